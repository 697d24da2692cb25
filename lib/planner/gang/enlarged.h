// planner/gang/enlarged.h - how large are a set's pods after admission? Pure.
//
// A LimitRange, a RuntimeClass or a webhook makes pods larger than their template. The controller's
// dry run of a waiting gang reports it (MemberSet::admitted), or the pods of a plan show it. The
// plan is then made again with the new size, which the status keeps (PodGroupStatus::enlarged),
// since a waiting gang has no pods. A later dry run replaces a learned size. Without one, a waiting
// gang is planned without it after 10 min, doubling each time its pods were enlarged again:
// retrying at each dropped plan would create and delete pods all the time.
#pragma once

#include <optional>
#include <vector>

#include "gang/pod_group.h"
#include "planner/gang/gang_work.h"

namespace nervex::planner {

struct SetSize {
  kube::Resources requests;                   // used to plan a pod
  std::optional<gang::EnlargedSet> enlarged;  // as the status should have it
};
// `known`: from the status, or null. `seen`: the largest requests of existing pods of the set.
SetSize compute_set_size(const gang::MemberSet& set, const gang::EnlargedSet* known,
                         const kube::Resources& seen);

struct EnlargedSets {
  std::vector<gang::EnlargedSet> sets;
  std::optional<SysTime> look_again;  // the next change by time alone
};
// `known` as in compute_set_size(). New entries get the current time; expired entries of waiting
// gangs lose their requests but keep the count of how often they were learned.
EnlargedSets age_enlarged(std::vector<gang::EnlargedSet> known, const std::vector<GangWork>& gangs,
                          SysTime now);

}  // namespace nervex::planner
