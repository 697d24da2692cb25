// controller/decide/round/set_names.h - in which set of which gang is a slot? Names of the
// PodGroup's sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::controller {

struct SetName {
  std::string set;   // "collector", "base-collector-4", "request-7-ddp-learner-1"
  std::string gang;  // "base", "base-collector-4", "request-7"
  job::Role role = job::Role::kCoordinator;
  std::int64_t id = 0;  // of the request
  bool operator==(const SetName&) const = default;
};

SetName base_set_name(job::Role role);
// For base replicas added to a running gang, from this ordinal on.
SetName added_base_set_name(job::Role role, int first_ordinal);
// For a slot with an entry.
SetName request_set_name(const job::WantedSlot& slot);

// Is it a name from added_base_set_name()? Its first ordinal.
bool is_added_base(const SetName& name);
int first_ordinal(const SetName& added);

// Parses the name of a gang, "request-7" or "base-collector-4": its set name for base replicas,
// else one with that gang and number. nullopt: the base gang, or not ours.
std::optional<SetName> parse_gang_name(std::string_view name);

// Parses the name of a set. nullopt: not ours.
std::optional<SetName> parse_set_name(std::string_view name);

}  // namespace nervex::controller
