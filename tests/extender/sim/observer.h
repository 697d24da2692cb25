// tests/extender/sim/observer.h - what must hold after every step, judged by the API server's
// objects alone and by the simulation's clock.
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

// 1. No node is filled beyond what it has.
// 2. No slot has two pods that are bound and have not finished.
// 3. A bound pod has the placement of its slot, and the gang of that is committed. A placement of a
//    committed gang stays as it is, unless its pod is not bound: then it may get another one, with
//    a later number.
// 4. A pod that is to be bound last is bound when each other slot of the gang, as it was committed,
//    has had a bound pod; and none of those that are there was created with its node and waits for
//    its kubelet, or was rejected by it.
// 5. No gang's quorum runs in part for longer than the healing deadline (Limits::in_part()).
// 6. No pod stays unmarked on a lost node (Limits::unmarked()).
class Observer {
 public:
  struct Limits {
    std::chrono::milliseconds healing_deadline{};
    std::chrono::milliseconds node_lost_after{};
    // Each of extender, controller, kube-scheduler and kubelets acts at least as often, and knows
    // all that there is when it does.
    std::chrono::milliseconds latest{};
    std::chrono::milliseconds unanswered_bind{60'000};  // as planner.cpp has it

    // From the first moment at which a slot of a committed gang has no pod in place while another
    // one has, to the moment at which all have or none has. The extender sees it with its next
    // cycle, counts the healing deadline from then, writes that it is over with a cycle after that,
    // and the controller reads that the next time it acts. Neither the bind deadline nor
    // node_lost_after comes on top: the first only says when the status begins to show what is
    // counted already, and a pod on a lost node is in place until it is marked, which 6. limits.
    // But a pod whose bind got no answer counts as bound until it was read, once every request of
    // that time has ended. What else may delay it is excused: a restart before the status showed
    // it, and failed writes.
    std::chrono::milliseconds in_part() const {
      return healing_deadline + unanswered_bind + 3 * latest;
    }
    // The extender sees that the node went with its next look, and marks with the first cycle after
    // the limit.
    std::chrono::milliseconds unmarked() const { return node_lost_after + 2 * latest; }
  };
  // Which pods count for 1.: where other schedulers bind pods without knowing ours, only the sum of
  // the gangs' pods is the extender's doing; kubelets reject what is too much.
  enum class Counted { kAllPods, kGangPods };

  Observer(View& seen_cluster, const Clock& clock, Limits limits, Counted counted)
      : view(seen_cluster), clock_(clock), limits_(limits), counted_(counted) {}

  View& view;

  void look();
  // A new extender knows what the API has, and how long it was away.
  void extender_was_started(std::chrono::milliseconds away);
  // A write of the extender failed, and is made again so much later.
  void excuse(std::chrono::milliseconds delay);
  // The next gangs that are committed are committed on what is true now.
  void expect_fresh(bool fresh) { caches_are_fresh_ = fresh; }

  const std::vector<std::string>& broken() const { return broken_; }
  void breach(std::string what);
  // How often what the simulation is about has happened.
  std::map<std::string, int> seen;

 private:
  using SlotKey = std::tuple<std::string, std::string, int, int>;  // UID, role, slot
  using Ordinal = std::tuple<std::string, std::string, int>;       // UID, role, ordinal
  using GangKey = std::pair<std::string, std::string>;             // UID, gang
  struct Part {
    SysTime since{};
    std::string text;
  };

  void look_at_nodes();
  void look_at_pods();
  void look_at_bound(const PodSeen& pod);
  void look_at_last(const PodSeen& pod, const gang::PodGroup& group);
  void look_at_group(const gang::PodGroup& group);
  void look_at_slot(const gang::PodGroup& group, const gang::MemberSet& set, gang::SlotId slot);
  void look_at_parts();
  std::optional<Part> part_of(const gang::PodGroup& group, const gang::GangStatus& gang) const;
  void check_times();

  const Clock& clock_;
  const Limits limits_;
  const Counted counted_;
  bool caches_are_fresh_ = false;
  std::int64_t looked_at_ = -1;  // the version
  std::vector<std::string> broken_;
  std::map<SlotKey, std::vector<const PodSeen*>> pods_of_;  // that are bound; at this look
  std::set<std::string> bound_;                             // UIDs of pods
  std::set<std::string> marked_;
  std::set<Ordinal> ever_bound_;
  std::set<SlotKey> begun_;  // of whose pods a kubelet has begun with one, and has not rejected it
  std::map<GangKey, std::vector<gang::Placement>> committed_;  // as it was then
  std::map<SlotKey, std::pair<std::string, std::int64_t>> placements_;
  std::map<GangKey, Part> parts_;
  std::map<std::string, SysTime> away_;     // nodes
  std::map<std::string, SysTime> on_away_;  // pods on them, by UID
};

}  // namespace nervex::testing
