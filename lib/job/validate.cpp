#include "job/validate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "job/names.h"
#include "job/slots.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "job/types.h"

namespace nervex::job {
namespace {

constexpr int kGeneratedSuffix = 5;  // characters that the API server appends to generateName
constexpr std::size_t kMaxNodeClasses = 16;

void check_name(const Json& object, FieldErrors& errors) {
  const std::string name = kube::string_at(object, {"metadata", "name"});
  const std::string prefix = kube::string_at(object, {"metadata", "generateName"});
  const bool generated = name.empty();
  const std::string& text = generated ? prefix : name;
  const std::string field = generated ? "metadata.generateName" : "metadata.name";
  const auto has_template = [&](std::string_view role) {
    return kube::find(object, {"spec", role, "template"}) != nullptr;
  };
  const NameLimit names = name_limit(has_template("collector"), has_template("learner"));
  const int limit = generated ? names.length - kGeneratedSuffix : names.length;
  if (text.empty()) {
    errors.push_back({FieldErrorType::kRequired, "metadata.name", "", ""});
  } else if (std::cmp_greater(text.size(), limit)) {
    errors.push_back(
        {FieldErrorType::kTooLong, field, "",
         fmt::format(
             "may not be more than {} bytes, cut {}: the pod name <name>{} may have at most {}",
             limit, text.size() - static_cast<std::size_t>(limit), names.longest_pod,
             kMaxNameLength)});
  } else if (!is_dns_1035(text, generated)) {
    errors.push_back({FieldErrorType::kInvalid, field, shown_value(text),
                      "must consist of lower-case letters, digits or '-', start with a letter and "
                      "end with a letter or digit: the job's services are named after it"});
  }
}

void check_clean_pod_policy(const Json& object, FieldErrors& errors) {
  const Json* policy = kube::find(object, {"spec", "cleanPodPolicy"});
  if (policy == nullptr) return;
  for (const std::string_view allowed : {"", "Running", "All", "ALL", "None"}) {
    if (*policy == allowed) return;
  }
  errors.push_back({FieldErrorType::kNotSupported, "spec.cleanPodPolicy", shown_value(*policy),
                    "supported values: \"All\", \"None\", \"Running\" (Invalid CleanPodPolicy)"});
}

void check_queue(const Json& object, FieldErrors& errors) {
  const std::string name = kube::string_at(object, {"spec", "queue"});
  if (name.empty()) return;
  std::string problem = pod_template::dns_subdomain_problem(name);
  if (problem.empty()) return;
  errors.push_back({FieldErrorType::kInvalid, "spec.queue", shown_value(name), std::move(problem)});
}

void check_aggregator(const Json& object, FieldErrors& errors) {
  const Json* mode = kube::find(object, {"spec", "aggregator"});
  if (mode == nullptr || *mode == Json("") || *mode == "PerJob" || *mode == "OnDemand") return;
  errors.push_back({FieldErrorType::kNotSupported, "spec.aggregator", shown_value(*mode),
                    "supported values: \"OnDemand\", \"PerJob\", \"\""});
}

// A field's integer. A wrong type counts as absent: check_text() or a schema reports it.
std::optional<std::int64_t> integer_at(const Json& object, std::string_view name) {
  const Json* value = kube::find(object, {name});
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{kMax}) return kMax;
  return value->get<std::int64_t>();
}

struct Range {
  std::string_view field;
  std::int64_t min;
  std::int64_t max;
};

// Reports text where a number belongs, with advice for common spellings.
void check_text(const Json& object, const std::string& path, std::string_view field,
                FieldErrors& errors) {
  const Json* value = kube::find(object, {field});
  if (value == nullptr || !value->is_string()) return;
  const auto& text = value->get_ref<const std::string&>();
  const bool has_quotes = is_digits(text);
  const bool is_time = field.find("Seconds") != std::string_view::npos;
  errors.push_back({FieldErrorType::kInvalid, fmt::format("{}.{}", path, field),
                    shown_value(*value),
                    has_quotes ? "must be an integer: write it without quotes"
                    : is_time  ? "must be an integer: a number of seconds, without a unit"
                               : "must be an integer"});
}

void check_range(const Json& object, const std::string& path, const Range& range,
                 FieldErrors& errors) {
  check_text(object, path, range.field, errors);
  const auto value = integer_at(object, range.field);
  if (!value || (*value >= range.min && *value <= range.max)) return;
  errors.push_back({FieldErrorType::kInvalid, fmt::format("{}.{}", path, range.field),
                    kube::to_text(object[range.field]),
                    *value < range.min && range.max >= std::numeric_limits<std::int32_t>::max()
                        ? fmt::format("must be {} or more", range.min)
                        : fmt::format("must be between {} and {}", range.min, range.max)});
}

void check_times(const Json& object, FieldErrors& errors) {
  constexpr auto kInt32Max = std::numeric_limits<std::int32_t>::max();
  constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr) return;
  for (const Range& range :
       {Range{"reservationSeconds", 0, kInt32Max}, Range{"backoffLimit", 0, kInt32Max},
        Range{"ttlSecondsAfterFinished", 0, kInt32Max},
        Range{"activeDeadlineSeconds", 1, kInt64Max}, Range{"scheduleTimeoutSeconds", 1, kInt64Max},
        Range{"startTimeoutSeconds", 1, kInt64Max}}) {
    check_range(*spec, "spec", range, errors);
  }
}

void check_coordinator(const Json& object, FieldErrors& errors) {
  const Json* coordinator = kube::find(object, {"spec", "coordinator"});
  if (coordinator == nullptr) {
    errors.push_back({FieldErrorType::kRequired, "spec.coordinator", "", ""});
  } else if (coordinator->is_object() && kube::find(*coordinator, {"template"}) == nullptr) {
    errors.push_back({FieldErrorType::kRequired, "spec.coordinator.template", "", ""});
  }
}

void check_role_replicas(const Json& section, const std::string& path, FieldErrors& errors) {
  for (const Range& range : {Range{"replicas", 0, kFirstRequestedOrdinal},
                             Range{"reservedReplicas", 0, kFirstRequestedOrdinal},
                             Range{"maxReplicas", 0, kMaxOrdinal + 1}}) {
    check_range(section, path, range, errors);
  }
  const auto max = integer_at(section, "maxReplicas");
  std::int64_t wanted = 0;
  for (const std::string_view field : {"replicas", "reservedReplicas"}) {
    const auto value = integer_at(section, field);
    if (!value) continue;
    wanted = std::max(wanted, *value);
    if (!max || *value <= *max) continue;
    errors.push_back({FieldErrorType::kInvalid, fmt::format("{}.{}", path, field),
                      std::to_string(*value),
                      fmt::format("must not be more than maxReplicas, {}", *max)});
  }
  if (wanted > 0 && kube::find(section, {"template"}) == nullptr) {
    errors.push_back({FieldErrorType::kRequired, path + ".template", "",
                      "replicas or reservedReplicas is above 0"});
  }
}

void check_base_replicas(const Json& object, FieldErrors& errors) {
  for (const std::string_view role : {"collector", "learner"}) {
    const Json* section = kube::find(object, {"spec", role});
    if (section != nullptr) check_role_replicas(*section, fmt::format("spec.{}", role), errors);
  }
}

void check_topology(const pod_template::Place& section) {
  const pod_template::Place topology = section.at("topology");
  if (!topology.is_object()) return;
  const pod_template::Place level = topology.at("level");
  if (level.has_text()) level.must_be(pod_template::label_key_problem(level.text()));
  const pod_template::Place policy = topology.at("policy");
  policy.exactly_one_of({"Required", "Preferred"});
}

void check_node_classes(const pod_template::Place& section) {
  const pod_template::Place classes = section.at("nodeClasses");
  if (classes.size() > kMaxNodeClasses) return classes.too_many(kMaxNodeClasses);
  std::set<std::string_view> seen;
  classes.each_item([&](const pod_template::Place& one) {
    if (!one.has_text()) return;
    one.must_be(pod_template::label_value_problem(one.text()));
    if (!seen.insert(one.text()).second) one.duplicate();
  });
}

void check_placement(const Json& object, FieldErrors& errors) {
  const Json* found = kube::find(object, {"spec"});
  if (found == nullptr) return;
  const pod_template::Place spec(*found, "spec", errors);
  check_topology(spec);
  for (const std::string_view role : {"collector", "learner"}) {
    const pod_template::Place section = spec.at(role);
    check_topology(section);
    check_node_classes(section);
  }
}

// People write them into the template, since a Deployment has them beside it.
void check_misplaced_replicas(const Json& pod_template, std::string_view role,
                              FieldErrors& errors) {
  if (role == "coordinator") return;
  for (const std::string_view field : {"replicas", "reservedReplicas", "maxReplicas"}) {
    for (const std::string_view part : {"", ".spec"}) {
      const Json* found = part.empty() ? kube::find(pod_template, {field})
                                       : kube::find(pod_template, {"spec", field});
      if (found == nullptr) continue;
      errors.push_back({FieldErrorType::kUnknownField,
                        fmt::format("spec.{}.template{}.{}", role, part, field), "",
                        fmt::format("unknown field `{}`: it belongs at spec.{}.{}, beside the "
                                    "template",
                                    field, role, field)});
    }
  }
}

void check_templates(const Json& object, FieldErrors& errors) {
  for (const std::string_view role : kTemplateRoles) {
    const Json* pod_template = kube::find(object, {"spec", role, "template"});
    if (pod_template == nullptr) continue;
    const std::string path = fmt::format("spec.{}.template", role);
    check_misplaced_replicas(*pod_template, role, errors);
    check_pod_template(*pod_template, path, kube::array_at(object, {"spec", "volumes"}), errors,
                       parse_role(role).value_or(Role::kLearner));
  }
}

// The volumes of all templates by name, each with one place that has it.
std::map<std::string, std::string> template_volumes(const Json& object) {
  std::map<std::string, std::string> places;
  for (const std::string_view role : kTemplateRoles) {
    std::size_t index = 0;
    for (const Json& volume :
         kube::array_at(object, {"spec", role, "template", "spec", "volumes"})) {
      places.try_emplace(kube::string_at(volume, {"name"}),
                         fmt::format("spec.{}.template.spec.volumes[{}]", role, index++));
    }
  }
  return places;
}

void check_volumes(const Json& object, FieldErrors& errors) {
  const Json& volumes = kube::array_at(object, {"spec", "volumes"});
  if (volumes.empty()) return;
  const auto others = template_volumes(object);
  pod_template::Names seen;
  const pod_template::Place list(volumes, "spec.volumes", errors);
  list.each_item([&](const pod_template::Place& volume) {
    pod_template::check_item_name(volume, seen);
    pod_template::check_volume_source(volume);
    const pod_template::Place name = volume.at("name");
    if (const auto other = others.find(name.text());
        !name.text().empty() && other != others.end()) {
      name.duplicate(name.text(), fmt::format("{} has this name, too", other->second));
    }
  });
}

// The field of `role`'s section that requests more pods, and the number.
struct BaseReplicas {
  std::string field;
  std::int64_t count = 0;
};
BaseReplicas base_replicas(const Json& object, std::string_view role) {
  BaseReplicas most;
  const Json* section = kube::find(object, {"spec", role});
  if (section == nullptr) return most;
  for (const std::string_view name : {"replicas", "reservedReplicas"}) {
    // Another check reports numbers out of range; here they must only not overflow a sum.
    const auto count = std::clamp<std::int64_t>(integer_at(*section, name).value_or(0), 0,
                                                std::numeric_limits<std::int32_t>::max());
    if (count > most.count) most = {fmt::format("spec.{}.{}", role, name), count};
  }
  return most;
}

std::int64_t base_pods(const Json& object) {
  const bool on_demand = kube::string_at(object, {"spec", "aggregator"}) == "OnDemand";
  return (on_demand ? 1 : 2) + base_replicas(object, "collector").count +
         base_replicas(object, "learner").count;
}

// Of the running attempt, without replicas that have ended: the server drops these when a request
// needs their places. Entries with errors count nothing: they are the server's own.
std::int64_t requested_pods(const Json& object) {
  const auto job = decode_job(object);
  if (!job) return 0;
  std::set<std::pair<Role, int>> ended;
  for (const Status::Ended& one : job->status.ended) ended.emplace(one.role, one.slot.ordinal);
  std::int64_t pods = 0;
  for (const RequestEntry& entry : job->spec.requests.entries) {
    if (entry.attempt != job->status.attempt) continue;
    for (const Slot slot : entry.slots) {
      const bool has_ended = !is_multi_gpu(entry) && ended.count({entry.role, slot.ordinal}) > 0;
      if (!has_ended) pods += pods_per_replica(entry);
    }
  }
  return pods;
}

using Check = void (*)(const Json& object, FieldErrors& errors);
constexpr std::array<Check, 10> kChecks{
    check_name,    check_queue,       check_clean_pod_policy, check_aggregator, check_times,
    check_volumes, check_coordinator, check_base_replicas,    check_placement,  check_templates,
};

}  // namespace

FieldErrors validate_job(const Json& object) {
  FieldErrors errors;
  for (const Check check : kChecks) check(object, errors);
  return errors;
}

FieldErrors validate_aggregator_config(const Json& object) {
  const std::string path = "spec.aggregator.template";
  const Json* pod_template = kube::find(object, {"spec", "aggregator", "template"});
  if (pod_template == nullptr) return {{FieldErrorType::kRequired, path, "", ""}};
  FieldErrors errors;
  check_pod_template(*pod_template, path, Json(), errors);
  return errors;
}

FieldErrors check_pod_count(const Json& object, const Json& old_object) {
  FieldErrors errors;
  const bool is_update = !old_object.is_null();
  std::int64_t pods = base_pods(object);
  if (is_update && pods <= base_pods(old_object)) return errors;
  const std::int64_t requested = is_update ? requested_pods(object) : 0;
  pods += requested;
  if (pods <= kMaxPodsPerJob) return errors;
  const std::string which =
      requested == 0 ? "" : fmt::format(", {} of them requested by the coordinator", requested);
  for (const std::string_view role : {"collector", "learner"}) {
    auto [field, count] = base_replicas(object, role);
    if (count == 0) continue;
    errors.push_back({FieldErrorType::kInvalid, std::move(field), std::to_string(count),
                      fmt::format("the job would have {} pods: coordinator, aggregator, collectors "
                                  "and learners{}; at most {} are allowed",
                                  pods, which, kMaxPodsPerJob)});
  }
  return errors;
}

Json default_patch(const Json& object) {
  Json patch = Json::array();
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return patch;
  const Json* policy = kube::find(*spec, {"cleanPodPolicy"});
  const auto store = [&](std::string_view value) {
    patch.push_back({{"op", "add"}, {"path", "/spec/cleanPodPolicy"}, {"value", value}});
  };
  if (policy == nullptr || *policy == Json("")) store("Running");
  if (policy != nullptr && *policy == "ALL") store("All");
  return patch;
}

}  // namespace nervex::job
