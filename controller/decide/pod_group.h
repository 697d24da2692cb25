// controller/decide/pod_group.h - what should the PodGroup of the attempt say? What the job wants.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decide/reconcile.h"
#include "controller/decide/round.h"
#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// The spec that the attempt's PodGroup should have, or should be made with if there is none. `seen`
// with the status that this round writes (ended, replaced). Equal to the one it has if there is
// nothing to do; whatever else stands there (somebody edited it) is put right.
//
// A slot stays in the set that it is in, which keeps its requests and constraints however the
// templates have changed: its pods may run. New slots go
//  - of coordinator, aggregator and base replicas into the base gang's sets, named after their
//    roles, while that gang is not committed;
//  - of base replicas that are added later into a gang of their own,
//    "base-collector-<first ordinal>";
//  - of a request entry into its gang "request-<id>": one set, or of multi-GPU learners one for the
//    aggregators and one per item of the GPU split.
// Gangs that back off (creation_failures.h) have no slots in it.
// Capacity for reservedReplicas is reserved beside the base replicas: reserved_capacity.h.
// Gangs of requests that nervex-server has merged become one once they are placed (see below).
// Slots that have finished and whose pods are gone are left out, and so are sets without slots, but
// for those that reserve capacity, or did.
// While what was requested is lost (attempt.h) nothing is taken out for want of a request.
gang::PodGroupSpec desired_spec(const Round& round, const job::PodContext& context);

// On the PodGroup: hashes of volumes and templates that its member sets, and the pods of its slots,
// are made of. None: an earlier version made it.
inline constexpr const char* kTemplatesAnnotation = "nervex.sensetime.com/templates";
// A version, and a hash for each part; the last one is of the aggregator's template, if the gang
// has a place for an aggregator, or says that the job waits for one. `config` may be null. Cost:
// the templates' size.
std::string templates_hash(const job::Spec& spec, const AggregatorConfig* config);
// Whether a part differs of what was `planned`. Of a gang that `is_committed` neither a role that
// had no template then nor the aggregator's template matters: none of its pods is made again. False
// if another version has written it.
bool has_other_templates(std::string_view planned, std::string_view now, bool is_committed);

// The whole PodGroup of an attempt that has none.
Json pod_group_manifest(const Round& round, const job::PodContext& context);

// The one write that the PodGroup needs, if it needs any: it is made, or its spec is changed.
Actions group_steps(const Round& round);

// -- which gangs of requests in a PodGroup become one? Pure.
//
// nervex-server merges entries of spec.requests that are placed (server/decide/grow.h). Their
// slots are then of one entry and still in a gang for each POST, so that the PodGroup would grow
// with every POST that the job ever made.

// Moves the slots of each gang of a request to the oldest gang whose slots are of the same entry,
// if
//  - both are committed and whole: the status has a place for every slot that `sets` names, and
//    `pods` has its pod, so that nothing is left to decide about them, no gang that waits grows or
//    starts in part, and a pod whose creation fails takes back none that ran before
//    (creation_failures.h); and
//  - their sets are alike: same roles and parts, equal requests and constraints.
// The planner keeps such a slot's node and number, since its key is what it was. Sets that are left
// without slots stay in `sets`. Until the status follows, the grown gang is not whole: nothing more
// is moved to it.
void join_merged_gangs(std::vector<gang::MemberSet>& sets, const WantedSlots& wanted,
                       const std::set<std::pair<job::Role, job::Slot>>& pods,
                       const gang::PodGroupStatus& status);

// -- which set of which gang is a slot put into? Names of the PodGroup's sets.

struct SetName {
  std::string set;   // "collector", "base-collector-4", "request-7-ddp-learner-1"
  std::string gang;  // "base", "base-collector-4", "request-7"
  job::Role role = job::Role::kCoordinator;
  std::int64_t id = 0;  // of the request
  bool operator==(const SetName&) const = default;
};

SetName base_set_name(job::Role role);
// Of what is added to the base replicas of a gang that runs already, from this ordinal on.
SetName added_base_set_name(job::Role role, int first_ordinal);
// Of a slot with an entry.
SetName request_set_name(const WantedSlot& slot);

// Is it one that added_base_set_name() names? The ordinal that it begins with.
bool is_added_base(const SetName& name);
int first_ordinal_of(const SetName& added);

// What a gang of that name is, "request-7" or "base-collector-4": its set name if it is of base
// replicas, else one with that gang and number. nullopt: the base gang, or none of ours.
std::optional<SetName> parse_gang_name(std::string_view name);

// The inverse: what a set of that name is. nullopt: none of ours is called so.
std::optional<SetName> parse_set_name(std::string_view name);

}  // namespace nervex::controller
