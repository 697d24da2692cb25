// tests/extender/sim/observer.h - which rules hold after every step, judged only by the API
// server's objects and the simulation's clock?
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/cluster/view.h"

namespace nervex::testing {

// 1. No node is overcommitted.
// 2. No slot has two pods that are bound and unfinished.
// 3. A bound pod has the placement of its slot, and the placement's gang is committed. A placement
//    of a committed gang stays, unless its pod is not bound: then it may be replaced by one with a
//    later number.
// 4. A pod that is bound last is bound only after each other slot of the gang, as committed, has
//    had a bound pod; and no existing one of those was created with its node and waits for its
//    kubelet, or was rejected by it.
// 5. No gang's quorum runs in part for longer than the healing deadline (Limits::in_part()). A gang
//    that lacks only collectors whose previous pods do not end runs on: that time does not count.
// 6. No pod stays unmarked on a lost node (Limits::unmarked()).
class Observer {
 public:
  struct Limits {
    std::chrono::milliseconds healing_deadline{};
    std::chrono::milliseconds node_lost_after{};
    // Extender, controller, kube-scheduler and kubelets each act at least this often, with current
    // caches.
    std::chrono::milliseconds latest{};
    std::chrono::milliseconds unanswered_bind{60'000};  // as in planner.cpp

    // From the first moment when a slot of a committed gang has no pod in place while another one
    // has, until all have or none has. The extender sees it in its next cycle, counts the healing
    // deadline from then, and reports its end in a cycle after that; the controller reads that when
    // it acts next. Neither the bind deadline nor node_lost_after is added: the first only delays
    // the report of what is counted already, and a pod on a lost node is in place until it is
    // marked, which rule 6 limits. But a pod whose bind got no answer counts as bound until it was
    // read, after every request of that time has ended. Other delays are excused: a restart before
    // the report, and failed writes.
    std::chrono::milliseconds in_part() const {
      return healing_deadline + unanswered_bind + 3 * latest;
    }
    // The extender notices the lost node with its next look, and marks in the first cycle after the
    // limit.
    std::chrono::milliseconds unmarked() const { return node_lost_after + 2 * latest; }
  };
  // Which pods count for rule 1: if other schedulers bind pods without knowing ours, the extender
  // is responsible only for the sum of the gangs' pods; kubelets reject the excess.
  enum class Counted { kAllPods, kGangPods };

  Observer(View& seen_cluster, const Clock& clock, Limits limits, Counted counted)
      : view(seen_cluster), clock_(clock), limits_(limits), counted_(counted) {}

  View& view;

  void look();
  // A new extender knows the state of the API, and how long the old one was down.
  void extender_was_started(std::chrono::milliseconds away);
  // A write of the extender failed, and is repeated after this delay.
  void excuse(std::chrono::milliseconds delay);
  // Gangs committed from now on are committed on current caches.
  void expect_fresh(bool fresh) { caches_are_fresh_ = fresh; }

  const std::vector<std::string>& broken() const { return broken_; }
  void breach(std::string what);
  // Number of occurrences of each event that the simulation is about.
  std::map<std::string, int> seen;

 private:
  using SlotKey = std::tuple<std::string, std::string, int, int>;  // UID, role, slot
  using Ordinal = std::tuple<std::string, std::string, int>;       // UID, role, ordinal
  using GangKey = std::pair<std::string, std::string>;             // UID, gang
  struct Part {
    SysTime since{};
    bool runs_on = false;
    std::string text;
  };

  void look_at_nodes();
  void look_at_pods();
  void look_at_bound(const PodSeen& pod);
  void look_at_last(const PodSeen& pod, const gang::PodGroup& group);
  void look_at_group(const gang::PodGroup& group);
  void look_at_slot(const gang::PodGroup& group, const gang::MemberSet& set, gang::SlotId slot);
  void look_at_parts();
  // A pod of an earlier incarnation of this collector's slot is being deleted.
  bool waits_for_last(const std::string& uid, const gang::MemberSet& set, gang::SlotId slot) const;
  std::optional<Part> missing_part(const gang::PodGroup& group, const gang::GangStatus& gang) const;
  void check_times();

  const Clock& clock_;
  const Limits limits_;
  const Counted counted_;
  bool caches_are_fresh_ = false;
  std::int64_t looked_at_ = -1;  // the version
  std::vector<std::string> broken_;
  std::map<SlotKey, std::vector<const PodSeen*>> pods_of_;  // bound ones, at this look
  std::set<std::string> bound_;                             // UIDs of pods
  std::set<std::string> marked_;
  std::set<Ordinal> ever_bound_;
  std::set<SlotKey> begun_;  // slots with a pod that its kubelet has started and not rejected
  std::map<GangKey, std::vector<gang::Placement>> committed_;  // as at the commit
  std::map<SlotKey, std::pair<std::string, std::int64_t>> placements_;
  std::map<GangKey, Part> parts_;
  std::map<std::string, SysTime> away_;     // nodes
  bool was_disruption_ = false;             // most nodes were not ready, at the last change
  std::map<std::string, SysTime> on_away_;  // pods on them, by UID
};

}  // namespace nervex::testing
