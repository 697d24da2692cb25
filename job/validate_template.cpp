#include "job/validate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "kube/model/quantity.h"

namespace nervex::job {
namespace {

// ---- can a container ask for these amounts?

constexpr std::array<std::string_view, 3> kStandard{"cpu", "memory", "ephemeral-storage"};

bool has_domain(std::string_view resource) { return resource.find('/') != resource.npos; }

// Things that are counted and never shared between pods. Those of Kubernetes' own domains, such as
// kubernetes.io/batch-cpu, are shared like cpu.
bool is_device(std::string_view resource) {
  const bool is_native = resource.find("kubernetes.io/") != std::string_view::npos;
  return (has_domain(resource) && !is_native) || resource.starts_with("hugepages-");
}

bool is_known(std::string_view resource) {
  return has_domain(resource) || is_device(resource) ||
         std::find(kStandard.begin(), kStandard.end(), resource) != kStandard.end();
}

// A quantity may be written as a number. nullopt: it is neither, which a schema tells.
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return kube::to_text(value);
  return std::nullopt;
}

kube::Scale scale_of(std::string_view resource) {
  return resource == "cpu" ? kube::Scale::kMilli : kube::Scale::kOne;
}

std::optional<std::int64_t> amount_of(const Json& list, const std::string& resource) {
  const auto at = list.is_object() ? list.find(resource) : list.end();
  if (!list.is_object() || at == list.end()) return std::nullopt;
  const auto text = text_of(*at);
  if (!text) return std::nullopt;
  const auto amount = kube::parse_quantity(*text, scale_of(resource));
  return amount ? std::optional(*amount) : std::nullopt;
}

// kInvalid: what is wrong with this amount by itself.
Result<Nothing> check_amount(const std::string& resource, const std::string& text) {
  const auto invalid = [](std::string why) { return Error{Code::kInvalid, std::move(why)}; };
  if (!is_known(resource)) {
    const std::string guess = resource == "gpu" || resource == "gpus"
                                  ? "nvidia.com/gpu"
                                  : closest_name(resource, {kStandard.begin(), kStandard.end()});
    return invalid(
        "must be cpu, memory, ephemeral-storage or the full name of a device, such as "
        "nvidia.com/gpu" +
        (guess.empty() ? "" : fmt::format(": did you mean {}?", guess)));
  }
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  if (!amount) {
    return invalid("must be a quantity such as 500m, 2 or 4Gi, and below 8Ei" +
                   pod_template::similar_quantity(text));
  }
  if (!kube::parse_quantity(text, scale_of(resource))) return invalid("is too large");
  if (*amount < 0 || text.starts_with('-')) return invalid("must be greater than or equal to 0");
  if (is_device(resource) && !kube::is_whole(text)) return invalid("must be an integer");
  return ok();
}

// A limit of any size, such as 10Ei, is right: the API server counts it as the most that it can.
// Without a request it would be one as well, which no node has.
bool is_limit_of_any_size(const std::string& resource, const std::string& text,
                          const Json& requests) {
  return !is_device(resource) && is_known(resource) && kube::is_quantity(text) &&
         !text.starts_with('-') && amount_of(requests, resource).has_value();
}

// `requests`: what is requested beside a list of limits; null for the requests themselves.
void check_amounts(const Json& list, const Json& requests, const std::string& path,
                   FieldErrors& errors) {
  if (!list.is_object()) return;
  for (const auto& [resource, value] : list.items()) {
    if (errors.size() >= kMaxErrors) return;
    const auto text = text_of(value);
    if (!text || is_limit_of_any_size(resource, *text, requests)) continue;
    if (const auto valid = check_amount(resource, *text); !valid) {
      errors.push_back({FieldErrorType::kInvalid, fmt::format("{}[{}]", path, resource),
                        shown_value(value), valid.error().message});
    }
  }
}

void check_against_limit(const Json& requests, const Json& limits, const std::string& resource,
                         const std::string& path, FieldErrors& errors) {
  const auto request = amount_of(requests, resource);
  if (!request) return;
  const auto refuse = [&](std::string_view why) {
    errors.push_back({FieldErrorType::kInvalid, fmt::format("{}.requests[{}]", path, resource),
                      shown_value(requests[resource]), std::string(why)});
  };
  const bool has_limit = limits.is_object() && limits.contains(resource);
  if (!has_limit && is_device(resource)) {
    errors.push_back({FieldErrorType::kRequired, fmt::format("{}.limits[{}]", path, resource), "",
                      "devices need a limit, equal to the request"});
  }
  const auto limit = amount_of(limits, resource);
  if (!limit || *request == *limit) return;
  const std::string limit_text = *text_of(limits[resource]);
  if (is_device(resource)) return refuse("must be equal to the limit of " + limit_text);
  if (*request > *limit) refuse("must not be more than the limit of " + limit_text);
}

// Checks the ResourceRequirements ({requests, limits}) that stand at `path`: quantities, whole
// numbers of devices, requests against limits. Parts of a wrong type are passed over.
void validate_resources(const Json& resources, const std::string& path, FieldErrors& errors) {
  if (!resources.is_object()) return;
  const Json requests = resources.value("requests", Json());
  const Json limits = resources.value("limits", Json());
  check_amounts(limits, requests, path + ".limits", errors);
  check_amounts(requests, Json(), path + ".requests", errors);
  if (!requests.is_object()) return;
  for (const auto& [resource, value] : requests.items()) {
    if (errors.size() >= kMaxErrors) return;
    check_against_limit(requests, limits, resource, path, errors);
  }
}

// ---- the template

// RFC 1123: what names of containers and volumes must be.
bool is_dns_label(std::string_view name) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return alphanumeric(c) || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed) &&
         alphanumeric(name.front()) && alphanumeric(name.back());
}

using Names = std::set<std::string, std::less<>>;

void check_container(const Json& container, const std::string& path, Names& seen,
                     FieldErrors& errors) {
  if (!container.is_object()) return;
  validate_item_name(container, path, seen, errors);
  const Json* image = kube::find(container, {"image"});
  if (image == nullptr || *image == Json("")) {
    errors.push_back({FieldErrorType::kRequired, path + ".image", "", ""});
  }
  if (const Json* resources = kube::find(container, {"resources"})) {
    validate_resources(*resources, path + ".resources", errors);
  }
}

void check_containers(const Json& spec, const std::string& path, FieldErrors& errors) {
  const Json* containers = kube::find(spec, {"containers"});
  if (containers == nullptr || (containers->is_array() && containers->empty())) {
    errors.push_back(
        {FieldErrorType::kRequired, path + ".containers", "", "at least one container is needed"});
  }
  Names seen;  // containers and init containers share their names
  for (const std::string_view list : {"containers", "initContainers"}) {
    std::size_t index = 0;
    for (const Json& container : kube::array_at(spec, {list})) {
      if (errors.size() >= kMaxErrors) return;
      check_container(container, fmt::format("{}.{}[{}]", path, list, index++), seen, errors);
    }
  }
}

void check_volume_names(const Json& spec, const std::string& path, FieldErrors& errors) {
  Names seen;
  std::size_t index = 0;
  for (const Json& volume : kube::array_at(spec, {"volumes"})) {
    if (errors.size() >= kMaxErrors) return;
    const std::string item = fmt::format("{}.volumes[{}]", path, index++);
    if (volume.is_object()) validate_item_name(volume, item, seen, errors);
  }
}

}  // namespace

void validate_item_name(const Json& item, const std::string& path,
                        std::set<std::string, std::less<>>& seen, FieldErrors& errors) {
  const Json* name = kube::find(item, {"name"});
  const std::string field = path + ".name";
  if (name == nullptr) {
    errors.push_back({FieldErrorType::kRequired, field, "", ""});
  } else if (name->is_string()) {
    if (!is_dns_label(name->get_ref<const std::string&>())) {
      errors.push_back({FieldErrorType::kInvalid, field, shown_value(*name),
                        "must be at most 63 lower-case letters, digits or '-', with a letter or "
                        "digit at both ends"});
    } else if (!seen.insert(name->get<std::string>()).second) {
      errors.push_back({FieldErrorType::kDuplicate, field, shown_value(*name), ""});
    }
  }
}

void validate_template(const Json& pod_template, const std::string& path, FieldErrors& errors) {
  if (!pod_template.is_object()) return;
  const Json* spec = kube::find(pod_template, {"spec"});
  if (spec != nullptr && !spec->is_object()) return;
  static const Json kNone = Json::object();
  const Json& there = spec == nullptr ? kNone : *spec;
  check_containers(there, path + ".spec", errors);
  check_volume_names(there, path + ".spec", errors);
  if (const Json* resources = kube::find(there, {"resources"})) {
    validate_resources(*resources, path + ".spec.resources", errors);
  }
}

}  // namespace nervex::job
