// What may an update change, and which errors existed before it?
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "job/types.h"
#include "job/validate.h"

namespace nervex::job {
namespace {

// ---- errors that the stored object also has

// The item of a list at index `text`, or null.
const Json* item_at(const Json& list, std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool is_index = error == std::errc() && end == text.data() + text.size();
  return is_index && index < list.size() ? &list[index] : nullptr;
}

// `field` with list items identified by name instead of index: spec.containers[name=main].image. So
// an error keeps its field when items are inserted before it.
std::string field_by_names(std::string_view field, const Json& object) {
  std::string made;
  const Json* at = &object;
  std::size_t here = 0;
  while (here < field.size()) {
    const bool in_brackets = field[here] == '[';
    const bool after_dot = field[here] == '.';
    const std::size_t begin = here + (in_brackets || after_dot ? 1 : 0);
    std::size_t end = field.find_first_of(in_brackets ? "]" : ".[", begin);
    end = std::min(end, field.size());
    const std::string_view key = field.substr(begin, end - begin);
    here = std::min(end + (in_brackets ? 1 : 0), field.size());
    const bool in_list = in_brackets && at != nullptr && at->is_array();
    if (at != nullptr) at = in_list ? item_at(*at, key) : kube::find(*at, {key});
    const std::string name = in_list && at != nullptr ? kube::string_at(*at, {"name"}) : "";
    made += name.empty() ? fmt::format("/{}", key) : fmt::format("/name={}", name);
  }
  return made;
}

// `message` with containers[] for containers[1]: inserted items also shift indexes in messages.
// Quoted text is a value and stays (except in the API server's `unknown field "..."`), as does a
// list such as [1].
std::string without_places(std::string_view message) {
  std::string made;
  bool in_quotes = false;
  bool in_value = false;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const bool follows_name =
        i > 0 &&
        (std::isalnum(static_cast<unsigned char>(message[i - 1])) != 0 || message[i - 1] == ']');
    if (c == '"') {
      in_quotes = !in_quotes;
      in_value = in_quotes && !made.ends_with("field ");
    }
    made += c;
    if (in_quotes && c == '\\' && i + 1 < message.size()) made += message[++i];
    if (in_value || c != '[' || !follows_name) continue;
    const std::size_t end = message.find_first_not_of("0123456789", i + 1);
    if (end != message.npos && message[end] == ']') i = end - 1;
  }
  return made;
}

std::string error_identity(const FieldError& error, const Json& object) {
  return fmt::format("{}\n{}\n{}\n{}", cause_type(error.type), field_by_names(error.field, object),
                     without_places(field_error_message(error)),
                     error.value);  // for messages without it
}

// ---- what may not change while the job runs

std::size_t count_present(const Json& object) {
  return static_cast<std::size_t>(
      std::count_if(object.begin(), object.end(), [](const Json& one) { return !one.is_null(); }));
}

// Equal to the API server: a null member counts as absent.
bool is_same(const Json& a, const Json& b) {
  if (a.is_array() && b.is_array()) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), is_same);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  if (count_present(a) != count_present(b)) return false;
  for (const auto& [key, value] : a.items()) {
    if (value.is_null()) continue;
    const Json* other = kube::find(b, {key});
    if (other == nullptr || !is_same(value, *other)) return false;
  }
  return true;
}

// Pods of the attempt exist, or are about to, and pods never change: part of the gang would keep
// the old templates. While the job waits, or cannot start, anything may change so that users can
// make it fit: the controller then restarts the attempt (controller/decide/attempt/transition.h).
// With `suspend`, the next attempt uses the new templates.
bool keeps_running(const Json& object, const Json& old_object) {
  const std::string phase = kube::string_at(old_object, {"status", "phase"});
  const bool starts = phase == to_string(Phase::kCreated) &&
                      kube::string_at(old_object, {"status", "reason"}) == "Starting";
  return (starts || phase == to_string(Phase::kRunning)) &&
         !kube::bool_at(object, {"spec", "suspend"});
}

void check_kept_templates(const Json& object, const Json& old_object, FieldErrors& errors) {
  for (const std::string_view role : kTemplateRoles) {
    const Json* stored = kube::find(old_object, {"spec", role, "template"});
    const Json* sent = kube::find(object, {"spec", role, "template"});
    if (stored == nullptr) continue;  // a new role has no pods yet
    const std::string field = fmt::format("spec.{}.template", role);
    if (sent == nullptr) {
      errors.push_back(
          {FieldErrorType::kForbidden, field, "",
           role == "coordinator"
               ? "may not be removed: every job has a coordinator; delete the job to end it"
               : fmt::format("may not be removed while the job runs: set spec.{}.replicas to 0 to "
                             "delete the role's pods, or suspend the job first",
                             role)});
    } else if (!is_same(*sent, *stored)) {
      errors.push_back({FieldErrorType::kForbidden, field, "", std::string(kFixedWhileRunning)});
    }
  }
}

void check_kept_volumes(const Json& object, const Json& old_object, FieldErrors& errors) {
  if (is_same(kube::array_at(object, {"spec", "volumes"}),
              kube::array_at(old_object, {"spec", "volumes"}))) {
    return;
  }
  errors.push_back(
      {FieldErrorType::kForbidden, "spec.volumes", "", std::string(kFixedWhileRunning)});
}

// The topology of a section, with the default policy; null: none.
Json find_topology(const Json* section) {
  const Json* found = section == nullptr ? nullptr : kube::find(*section, {"topology"});
  if (found == nullptr) return Json();
  Json topology = *found;
  const bool has_default = topology.is_object() && kube::find(topology, {"policy"}) == nullptr;
  if (has_default) topology["policy"] = "Required";
  return topology;
}

// The PodGroup keeps the topologies and node classes that it was made with, and pods do not move.
void check_kept_placement(const Json& object, const Json& old_object, FieldErrors& errors) {
  const auto check = [&errors](std::string field, const Json& sent, const Json& stored) {
    if (is_same(sent, stored)) return;
    errors.push_back(
        {FieldErrorType::kForbidden, std::move(field), "", std::string(kFixedWhileRunning)});
  };
  check("spec.topology", find_topology(kube::find(object, {"spec"})),
        find_topology(kube::find(old_object, {"spec"})));
  for (const std::string_view role : {"collector", "learner"}) {
    const bool had_pods = kube::find(old_object, {"spec", role, "template"}) != nullptr;
    const bool is_removed = kube::find(object, {"spec", role, "template"}) == nullptr;
    if (!had_pods || is_removed) continue;  // new, or reported by check_kept_templates()
    check(fmt::format("spec.{}.topology", role), find_topology(kube::find(object, {"spec", role})),
          find_topology(kube::find(old_object, {"spec", role})));
    check(fmt::format("spec.{}.nodeClasses", role),
          kube::array_at(object, {"spec", role, "nodeClasses"}),
          kube::array_at(old_object, {"spec", role, "nodeClasses"}));
  }
}

// Until the controller ends the attempt, its pods run, and a resume would let it continue, perhaps
// with changed templates that none of its pods match. The phase shows the end of the attempt; the
// same write makes the next one.
void check_suspension(const Json& /*object*/, const Json& old_object, FieldErrors& errors) {
  if (!kube::bool_at(old_object, {"spec", "suspend"})) return;
  errors.push_back({FieldErrorType::kForbidden, "spec.suspend", "",
                    "may not be set to false before the controller has suspended the job: wait for "
                    "its condition Suspended"});
}

using UpdateCheck = void (*)(const Json& object, const Json& old_object, FieldErrors& errors);
constexpr std::array<UpdateCheck, 4> kRunningChecks{check_kept_templates, check_kept_volumes,
                                                    check_kept_placement, check_suspension};

}  // namespace

FieldErrors without_stored_errors(FieldErrors errors, const Json& object, const FieldErrors& stored,
                                  const Json& old_object) {
  std::multiset<std::string> known;
  for (const auto& error : stored) known.insert(error_identity(error, old_object));
  std::erase_if(errors, [&](const FieldError& error) {
    const auto at = known.find(error_identity(error, object));
    if (at == known.end()) return false;
    known.erase(at);
    return true;
  });
  return errors;
}

FieldErrors check_update(const Json& object, const Json& old_object) {
  FieldErrors errors;
  if (!keeps_running(object, old_object)) return errors;
  for (const UpdateCheck check : kRunningChecks) check(object, old_object, errors);
  return errors;
}

}  // namespace nervex::job
