#include "controller/decide/round/set_names.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "gang/pod_group.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

using job::Role;

// Takes `prefix` and digits off the front; false if they are not there.
bool take_number(std::string_view& text, std::string_view prefix, std::int64_t& number) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  const char* begin = text.data() + prefix.size();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

// "base-collector-4", or as versions before the first release wrote it.
std::optional<std::int64_t> parse_first_ordinal(std::string_view name, Role role) {
  for (const std::string_view kind : {"base", "floor"}) {
    std::string_view rest = name;
    std::int64_t first = 0;
    if (take_number(rest, fmt::format("{}-{}-", kind, to_string(role)), first) && rest.empty()) {
      return first;
    }
  }
  return std::nullopt;
}

std::optional<SetName> parse_added_base(std::string_view name) {
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    if (parse_first_ordinal(name, role)) {
      return SetName{std::string(name), std::string(name), role, 0};
    }
  }
  return std::nullopt;
}

std::string request_gang(std::int64_t id) { return fmt::format("{}{}", job::kRequestGang, id); }

std::optional<SetName> parse_request(std::string_view name) {
  std::string_view rest = name;
  std::int64_t id = 0;
  if (!take_number(rest, job::kRequestGang, id)) return std::nullopt;
  const std::string gang = request_gang(id);
  std::int64_t part = 0;
  if (take_number(rest, "-ddp-learner-", part)) {
    if (!rest.empty()) return std::nullopt;
    return SetName{std::string(name), gang, Role::kDdpLearner, id};
  }
  for (const Role role : {Role::kCollector, Role::kLearner, Role::kAggregator}) {
    if (rest == fmt::format("-{}", to_string(role))) {
      return SetName{std::string(name), gang, role, id};
    }
  }
  return std::nullopt;
}

}  // namespace

SetName base_set_name(Role role) {
  return {std::string(to_string(role)), std::string(gang::kBaseGang), role, 0};
}

SetName added_base_set_name(Role role, int first_ordinal) {
  const std::string name = fmt::format("base-{}-{}", to_string(role), first_ordinal);
  return {name, name, role, 0};
}

SetName request_set_name(const job::WantedSlot& slot) {
  const std::string gang = request_gang(slot.entry()->id);
  std::string name = fmt::format("{}-{}", gang, to_string(slot.role));
  if (slot.role == Role::kDdpLearner) name += fmt::format("-{}", slot.part);
  return {std::move(name), gang, slot.role, slot.entry()->id};
}

bool is_added_base(const SetName& name) { return name.gang == name.set; }

int first_ordinal(const SetName& added) {
  return static_cast<int>(parse_first_ordinal(added.gang, added.role).value_or(0));
}

std::optional<SetName> parse_gang_name(std::string_view name) {
  if (auto added = parse_added_base(name)) return added;
  std::string_view rest = name;
  std::int64_t id = 0;
  if (!take_number(rest, job::kRequestGang, id) || !rest.empty()) return std::nullopt;
  return SetName{"", std::string(name), Role::kCoordinator, id};
}

std::optional<SetName> parse_set_name(std::string_view name) {
  for (const Role role :
       {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner}) {
    if (name == to_string(role)) return base_set_name(role);
  }
  if (auto added = parse_added_base(name)) return added;
  return parse_request(name);
}

}  // namespace nervex::controller
