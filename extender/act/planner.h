// extender/act/planner.h - when does a scheduling cycle run, and how are its decisions written? It
// runs after each change that matters. Only the leader's planner runs.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "extender/act/foreign_writes.h"
#include "extender/decide/scheduling_cycle.h"
#include "extender/observe/plans.h"
#include "kube/api.h"
#include "kube/work_queue.h"

namespace nervex::extender {

class Planner {
 public:
  Planner(kube::Api& api, Plans& plans, const Clock& clock, HealingOptions healing = {},
          UnstartedOptions unstarted = {})
      : api_(api),
        plans_(plans),
        clock_(clock),
        unstarted_(unstarted),
        queue_(clock),
        foreign_(api, plans, clock) {
    healing_.options = healing;
  }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // Something that matters changed: run a cycle soon; changes within a few milliseconds share one.
  // Thread-safe.
  void wake();
  // There may be more capacity than there was: the same if that is of use to a gang that waits.
  // Else it costs a few additions; nothing if no gang waits.
  void wake_for_capacity();
  // Called with the time of each cycle that run() made. Call before run().
  void observe_cycles(std::function<void(std::chrono::nanoseconds)> observe) {
    observe_ = std::move(observe);
  }
  // Called first in each cycle; says when the next cycle is due even if nothing changes. Call
  // before run().
  using CycleStep = std::function<std::optional<std::chrono::milliseconds>()>;
  void begin_cycles_with(CycleStep step) { first_step_ = std::move(step); }
  // Why gangs of other operators wait is told to it. Call before run().
  void tell_events_to(kube::EventRecorder& events) { foreign_.tell_events_to(events); }
  // For its metrics.
  const kube::WorkQueue& queue() const { return queue_; }
  // Runs cycles until `stop`, the first one at once: all caches must be current. On one thread.
  void run(const std::stop_token& stop);

  // One cycle: decides on what is known now and writes the results side by side. What could not be
  // written is unconfirmed or forgotten, and the next cycle, which is already queued, looks again.
  // Called by run() and by tests.
  void schedule_once();
  // The same, if capacity that was set free since the last cycle may be of use to a gang that
  // waits. True: it was. Called by run() and by tests.
  bool schedule_at_capacity();
  // Gangs that were planned, or tried to be, so far: what a cycle costs. For metrics and tests.
  std::uint64_t gangs_planned() const { return gangs_planned_; }

 private:
  struct Retry {
    int failures = 0;
    MonoTime due{};
  };
  // The write is tried again much later for the same generation of the spec: the API server's
  // limits or the CRD may have changed.
  struct Rejected {
    Rejection rejection;
    MonoTime due{};
  };

  // Comes first in a cycle: repeats writes whose outcome is not known. They are conditional, so
  // this resolves them whether the first write was stored or not.
  void repeat_unconfirmed();
  void give_up_unstarted();
  void watch_unstarted();
  // Back-off and rejections of PodGroups that do not exist any more.
  void forget_deleted();
  // A gang whose commit is unconfirmed counts as committed, so nothing would move it away from a
  // node that was lost meanwhile, and no bind would repeat the commit: the object has to be read.
  void resolve_commits();
  // A pod whose bind got no answer counts as bound, so nothing would move its slot away from a lost
  // node: the pod has to be read.
  void resolve_binds();
  Rejections rejections();  // those that were not made too long ago
  // Marks all of them first: should this process end in between, each that was sent is whole, and
  // what was not is decided again by the next leader.
  void write(std::vector<StatusWrite> writes);
  void after_first_write(const gang::PodGroup& base, const Result<gang::PodGroup>& written);
  // True if a node gained capacity.
  bool note_changes(const std::vector<NodeChange>& changes);
  // Since the cycle's snapshot, by our own writes, too. Nobody else woke us for them.
  void look_at_changes_since(bool is_any_new);
  // The numbers in what was reported of gangs that wait are written again once in a while.
  void look_when_old();
  void note_rejection(const gang::PodGroup& base, const Error& error);
  void after_write(const gang::PodGroup& base, const Result<gang::PodGroup>& written);
  bool must_wait(const std::string& uid);
  void back_off(const std::string& uid);
  // What was decided about it: what was last reported, and what gangs behind it were refused
  // beside.
  void not_stored(const std::string& uid);

  kube::Api& api_;
  Plans& plans_;
  const Clock& clock_;
  const UnstartedOptions unstarted_;
  kube::WorkQueue queue_;
  std::function<void(std::chrono::nanoseconds)> observe_ = [](auto) {};
  CycleStep first_step_ = [] { return std::nullopt; };
  ForeignWrites foreign_;
  // All below: by the planner's thread only.
  Memory memory_;
  Healing healing_;
  WaitingGangs waiting_;
  // Something waits for capacity that is not in waiting_: the missing part of a gang, or gangs of
  // other operators. Each gain may be of use to it.
  bool waits_otherwise_ = false;
  bool has_gained_otherwise_ = false;
  std::atomic<std::uint64_t> gangs_planned_{0};
  std::atomic<bool> does_anything_wait_{true};  // of any thread
  PlanAges plan_ages_;
  std::map<std::string, Retry> retries_;      // by PodGroup UID
  std::map<std::string, Rejected> rejected_;  // by PodGroup UID
};

}  // namespace nervex::extender
