// planner/foreign/foreign_plan.h - which pods of other operators' gangs are nominated for
// which nodes? Pure.
//
// The plan of such a gang is stored in status.nominatedNodeName of its pods. kube-scheduler tries
// that node first and clears the name when the attempt fails. docs/adr/2026-11-22-foreign-gangs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gang/no_fit.h"
#include "gang/pod_group.h"
#include "placement/capacity.h"
#include "placement/plan.h"
#include "planner/facts/foreign_view.h"
#include "planner/foreign/foreign_attempts.h"
#include "planner/foreign/foreign_wait.h"
#include "planner/gang/gang_plan.h"
#include "planner/gang/ledger.h"
#include "queue/order.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::planner {

struct NominationWrite {
  kube::PodPtr pod;  // at the decision
  std::string node;  // "": none
};

// Actions for one gang.
struct ForeignDecision {
  kube::ForeignGroupPtr group;
  std::vector<NominationWrite> nominations;
  std::optional<ForeignWait> wait{};  // why it waits; nullopt: it does not
  bool is_news = false;               // `wait` is to be reported
  std::int64_t placed = 0;            // pods that now have a node
  std::optional<SysTime> look_again{};
};

// Pods of one gang that get nodes together, or not at all.
struct ForeignPart {
  std::vector<std::size_t> pods;  // into ForeignGangSeen::pending, ascending; not empty
  bool is_extra = false;          // the gang starts without them
};

// After this many failed starts that say nothing about nodes, other gangs get the capacity for a
// while.
inline constexpr int kStartsBeforePause = 3;

// One gang within a scheduling cycle. Borrows its arguments.
class ForeignWork {
 public:
  ForeignWork(const ForeignGangSeen& seen, const ForeignMemory::Gang* before, SysTime now);
  ForeignWork(ForeignWork&&) = default;  // plan() points into it: it is not copied
  ForeignWork& operator=(ForeignWork&&) = delete;

  std::string key() const { return seen_.key(); }
  const std::string& ns() const { return seen_.group->meta.ns.str(); }
  int priority() const;  // the highest of its unbound pods
  queue::Rank rank() const;
  // Forgets why pods wait: all of them are tried once more.
  void begin_pass();
  // Those of its pods that have no node in this cycle: as many as it needs to start, and then each
  // other one alone. With a minMember of 0 or 1 each pod is alone.
  std::vector<ForeignPart> list_waiting() const;
  // Of that part; and of all pods that have a node: bound ones count until they are gone.
  queue::Workload make_workload(const ForeignPart& part) const;
  queue::Workload make_used_workload() const;
  // A rule of its queue keeps that part from starting.
  void hold(const ForeignPart& part, gang::NotAdmitted why);
  // Takes the capacity of the nominated pods, if all fit and they are enough.
  void recheck(Ledger& ledger);
  // Gives nodes to that part. `limits`: of its queue on node classes, for what the gang gets now;
  // `limit_cause` is said if it would fit without them. False: not all of it fits, or the gang has
  // to start first.
  bool complete(const ForeignPart& part, Ledger& ledger,
                const std::vector<placement::GroupLimit>& limits = {},
                const gang::NotAdmitted& limit_cause = {});
  // That failed on all nodes that the gang may use: other pods like this one need not be tried in
  // this pass.
  void note_full(const ForeignPart& part, const std::vector<placement::GroupLimit>& limits);
  bool is_full(const ForeignPart& part, const std::vector<placement::GroupLimit>& limits) const;
  // What the planner knows of a plain pod that waits. nullptr: the gang is none.
  const gang::PodShape* plain_shape() const;
  // Why it does not start, if that would keep any pod of its shape and priority from starting.
  const gang::NoFit* common_no_fit() const;
  void refuse(gang::NoFit why) { plan_.no_fit = std::move(why); }
  // Where no queue has a say: gives nodes to all pods without one; or to as many as minMember
  // needs, and then to each other one that fits; or to none. True if any pod got one.
  bool complete_all(Ledger& ledger);
  // What make_used_workload() requests on the nodes of each class.
  queue::ClassRequests count_classes(const Ledger& ledger, const std::string& label) const;
  // `memory`: for the next cycle, if nothing is written.
  ForeignDecision decide(ForeignMemory::Gang& memory) const;

  // The plan has the pods with nodes: the ordinal of a slot is an index into
  // ForeignGangSeen::pending. It is assumed, by recheck() or when it is completed, when these pods
  // are enough to start; it is never committed.
  const GangPlan& plan() const { return plan_; }
  // Drops the plan until recheck() or complete().
  void yield(Ledger& ledger);
  // It was whole and has lost pods: waiting gangs must not prolong that. A gang whose minMember was
  // raised since waits for its turn, as its author may raise it at will.
  bool runs_in_part() const {
    return seen_.counts.bound > 0 && needed() > placed() &&
           seen_.group->min_member <= seen_.whole_with;
  }
  // With that part it uses no more than when it was whole. Its author may create larger pods than
  // it has lost: these wait for their turn.
  bool replaces_lost(const ForeignPart& part) const;
  // It has nodes from the ledger that no nomination of its pods shows yet.
  bool holds_unseen() const;

 private:
  // `counters`: of the gang's constraints that count it.
  void add_shape(const ForeignPod& pod, const kube::Resources& counters);
  std::int64_t needed() const { return seen_.counts.needed(seen_.group->min_member); }
  std::int64_t placed() const { return static_cast<std::int64_t>(plan_.placed.size()); }
  bool has_started() const { return placed() >= needed(); }
  bool has_enough_pods() const;
  bool is_paused() const;
  std::optional<MinResourcesNotFree> lacking_in_total(const Ledger& ledger) const;
  bool may_place() const { return has_enough_pods() && !is_paused(); }
  bool may_start(const ForeignPart& part) const;
  void take_nominated(const std::vector<std::size_t>& pods, Ledger& ledger);
  placement::Plan search(const std::vector<std::size_t>& pods,
                         const std::vector<placement::GroupLimit>& group_limits,
                         const Ledger& ledger) const;
  bool place(const std::vector<std::size_t>& pods, Ledger& ledger);
  bool place_part(const ForeignPart& part, Ledger& ledger);
  bool place_needed(Ledger& ledger);
  bool place_extras(Ledger& ledger);
  void take(std::size_t pod, std::string node, Ledger& ledger);
  void give_back(const std::vector<std::size_t>& pods, Ledger& ledger);
  void give_back_all(Ledger& ledger);
  void retake_nominated(Ledger& ledger);
  void note_dropped(Ledger& ledger) const;
  // By pod; "": none.
  std::vector<std::string_view> list_nodes() const;
  std::vector<std::size_t> unplaced() const;
  std::vector<std::size_t> still_needed() const;
  std::optional<ForeignWait> find_wait() const;
  void report(ForeignMemory::Gang& memory, ForeignDecision& out) const;

  const ForeignGangSeen& seen_;
  const SysTime now_;
  ForeignMemory::Gang memory_;
  std::vector<gang::MemberSet> shapes_;  // of its pods; without slots
  std::vector<std::size_t> shape_of_;    // by pod, as in seen_.pending
  ForeignAttempts attempts_;
  GangPlan plan_;
  // By shape: with these limits no other pod of it fits.
  std::vector<std::optional<std::vector<placement::GroupLimit>>> full_;
  std::optional<gang::NotAdmitted> rule_;  // why a pod beyond minMember waits
  std::optional<MinResourcesNotFree> lacking_;
};

}  // namespace nervex::planner
