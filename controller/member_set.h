// controller/member_set.h - which set of which gang is a slot put into? Names of a PodGroup's sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/wanted.h"

namespace nervex::controller {

struct SetName {
  std::string set;   // "collector", "floor-collector-4", "request-7-ddp-learner-1"
  std::string gang;  // "base", "floor-collector-4", "request-7"
  job::Role role = job::Role::kCoordinator;
  std::int64_t id = 0;  // of the request
  bool operator==(const SetName&) const = default;
};

SetName base_set_name(job::Role role);
// Of what is added to a floor whose gang runs already, from this ordinal on.
SetName floor_set_name(job::Role role, int first_ordinal);
// Of a slot with an entry.
SetName request_set_name(const WantedSlot& slot);

// The inverse: what a set of that name is. nullopt: none of ours is called so.
std::optional<SetName> parse_set_name(std::string_view name);

}  // namespace nervex::controller
