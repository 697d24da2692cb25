#include "planner/recovery/old_definition.h"

#include <fmt/format.h>

#include <algorithm>

namespace nervex::planner {
namespace {

// A gang's decided status has something that its stored one has not.
template <typename Has>
bool has_lost(const gang::PodGroupStatus& decided, const gang::PodGroupStatus& stored, Has has) {
  return std::any_of(decided.gangs.begin(), decided.gangs.end(), [&](const auto& gang) {
    const gang::GangStatus* after = gang::find_gang(stored, gang.name);
    return has(gang) && after != nullptr && !has(*after);
  });
}

bool is_reserving(const gang::GangStatus& gang) { return gang.reservation.has_value(); }
bool counts_on_jobs(const gang::GangStatus& gang) {
  return gang.reservation && !gang.reservation->counts_on.empty();
}
bool is_renewed(const gang::GangStatus& gang) {
  return gang.reservation && gang.reservation->renew_after.has_value();
}

}  // namespace

std::string describe_old_definition(std::string_view definition) {
  return fmt::format(
      "the CustomResourceDefinition {} is older than nervex-extender: apply that of its version "
      "(manifests/crds)",
      definition);
}

bool has_lost_victims(const gang::PodGroupStatus& decided, const gang::PodGroupStatus& stored) {
  return has_lost(decided, stored, gang::is_preempting);
}

bool has_lost_reservation(const gang::PodGroupStatus& decided, const gang::PodGroupStatus& stored) {
  return has_lost(decided, stored, is_reserving) || has_lost(decided, stored, counts_on_jobs) ||
         has_lost(decided, stored, is_renewed);
}

}  // namespace nervex::planner
