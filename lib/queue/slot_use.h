// queue/slot_use.h - how much does a slot of a gang use? Pure.
//
// The one definition for limits, quotas, shares and users. A slot counts once, until it has
// finished: with what its set requests, or with what its pod requests if that is more (a pod may be
// resized in place). A pod of an earlier incarnation, or on the slot's last node, is a pod of the
// slot until it is gone. Pods whose gang has no nodes count by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "kube/model/resources.h"

namespace nervex::queue {

// Adds what `times` pods request to what queues count: without implicit resources. Saturates.
void add_requests(kube::Resources& total, const kube::Resources& each, std::int64_t times = 1);

using ClassRequests = std::map<std::string, kube::Resources, std::less<>>;  // by node class
// The same on nodes of that class; "": nodes without one are left out.
void add_requests(ClassRequests& classes, std::string_view node_class, const kube::Resources& each,
                  std::int64_t times = 1);

// The class of that node; "": it has none.
using FindClass = std::function<std::string_view(std::string_view node)>;

// A bound pod that has not finished.
struct PodUse {
  std::string node;
  kube::Resources requests;
  bool operator==(const PodUse&) const = default;
};

// A slot that does not just use what its set requests on the node of its placement.
struct OtherUse {
  std::string role;
  gang::SlotId slot;
  std::size_t gang = 0;  // in PodGroupSpec::gangs
  std::size_t set = 0;   // in Gang::members
  bool is_over = false;  // its last pod has finished
  // Those that count with it: see list_counted_slots().
  std::vector<PodUse> pods{};
  bool operator==(const OtherUse&) const = default;
};
using OtherUses = std::vector<OtherUse>;  // sorted by role and slot

// Null: the slot uses what its set requests, or `uses` is null.
const OtherUse* find_use(const OtherUses* uses, std::string_view role, gang::SlotId slot);

// The same slots in a PodGroup whose spec is another one: without those that it does not want.
OtherUses find_again(OtherUses uses, const gang::PodGroup& group);

// What a slot uses whose set requests that. `use`: may be null.
kube::Resources count_slot(const kube::Resources& requests, const OtherUse* use);
// What its pods alone use: its gang has lost its nodes in this cycle.
kube::Resources count_pods(const OtherUse& use);
// The same as count_slot() on nodes of classes: if its pods are on nodes of two classes, the slot
// counts in both. `node`: of its placement; "": it has none.
void count_slot(ClassRequests& classes, const kube::Resources& requests, const OtherUse* use,
                std::string_view node, const FindClass& find_class);

// Slots, by role: their ordinals, sorted.
using SlotNumbers = std::map<std::string, std::vector<int>, std::less<>>;
bool contains(const SlotNumbers& slots, std::string_view role, int ordinal);
// The wanted slots whose pods count with their gang: it is committed, or they have placements.
// Empty if the PodGroup is being deleted. Pods of other slots count by themselves.
SlotNumbers list_counted_slots(const gang::PodGroup& group);

}  // namespace nervex::queue
