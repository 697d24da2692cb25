// extender/decide/enlarged.h - how large are the pods of a set, whatever the spec says? Pure.
//
// A LimitRange, a RuntimeClass or a webhook makes pods larger than their template. The controller's
// dry run of a gang that waits tells (MemberSet::admitted), or the pods of a plan do: then the plan
// is made again with their size, which the status keeps (PodGroupStatus::enlarged), since a gang
// that waits has no pods. What was learned ends with a later answer to a dry run. Where there is
// none a gang that waits is planned without it after 10 min, doubling each time its pods were
// enlarged nevertheless: not at each plan that is dropped, or pods would come and go all the time.
#pragma once

#include <optional>
#include <vector>

#include "extender/decide/gang_work.h"
#include "gang/pod_group.h"

namespace nervex::extender {

struct SetSize {
  kube::Resources requests;                   // that a pod is planned with
  std::optional<gang::EnlargedSet> enlarged;  // as the status should have it
};
// `known`: of the status, or null. `seen`: the most that pods of the set which are there request.
SetSize size_of(const gang::MemberSet& set, const gang::EnlargedSet* known,
                const kube::Resources& seen);

struct EnlargedSets {
  std::vector<gang::EnlargedSet> sets;
  std::optional<SysTime> look_again;  // what the clock alone will change next
};
// `known` as of size_of(). What is new gets its time, and of gangs that wait what is over loses its
// requests; how often it was learned is kept.
EnlargedSets age_enlarged(std::vector<gang::EnlargedSet> known, const std::vector<GangWork>& gangs,
                          SysTime now);

}  // namespace nervex::extender
