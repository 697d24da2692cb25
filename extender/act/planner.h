// extender/act/planner.h - when does a scheduling cycle run, and how are its decisions written? A
// cycle runs after each relevant change, on the leader only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "extender/act/foreign_writes.h"
#include "extender/act/queue_writes.h"
#include "extender/observe/planner_cache.h"
#include "kube/api.h"
#include "kube/work_queue.h"
#include "planner/scheduling_cycle.h"

namespace nervex::extender {

class Planner {
 public:
  // `parallelism`: of the writes of a cycle. With 1 they are in order.
  Planner(kube::Api& api, PlannerCache& cache, const Clock& clock,
          planner::CycleOptions options = {}, planner::PlanExpiryOptions plan_expiry = {},
          std::size_t parallelism = 1)
      : api_(api),
        cache_(cache),
        clock_(clock),
        options_(options),
        plan_expiry_(plan_expiry),
        parallelism_(parallelism),
        queue_(clock),
        foreign_(api, cache, clock, parallelism),
        queues_(api, clock, parallelism) {}
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // A relevant change: run a cycle soon; changes within a few milliseconds share one. Thread-safe.
  void wake();
  // Capacity may have grown: wakes the planner if a waiting gang can use it. Costs a few additions,
  // or nothing if no gang waits.
  void wake_for_capacity();
  struct CycleTimes {
    std::chrono::nanoseconds total{};
    std::chrono::nanoseconds deciding{};  // on a snapshot, which includes making it; no I/O
  };
  // Called after each cycle of run(). Call before run().
  void observe_cycles(std::function<void(const CycleTimes&)> observe) {
    observe_ = std::move(observe);
  }
  // Called first in each cycle; returns when the next cycle is due even if nothing changes. Call
  // before run().
  using CycleStep = std::function<std::optional<std::chrono::milliseconds>()>;
  void begin_cycles_with(CycleStep step) { first_step_ = std::move(step); }
  // `events` gets the reasons why gangs of other operators wait. Call before run().
  void tell_events_to(kube::EventRecorder& events) { foreign_.tell_events_to(events); }
  // Called with each base gang that got its nodes for the first time in its PodGroup, as stored.
  // Call before run().
  void observe_starts(std::function<void(const gang::PodGroup&)> observe) {
    observe_start_ = std::move(observe);
  }
  // Called with each PodGroup's stored status and the gang in it that has begun to preempt. Call
  // before run().
  using PreemptionObserver =
      std::function<void(const gang::PodGroupStatus&, const gang::GangStatus&)>;
  void observe_preemptions(PreemptionObserver observe) { observe_preemption_ = std::move(observe); }
  // What the queues use and have waiting, for metrics.
  const QueueWrites& queues() const { return queues_; }
  // For the queue's metrics.
  const kube::WorkQueue& queue() const { return queue_; }
  // Runs cycles until `stop`, the first one without a change: all caches must be current. On one
  // thread.
  void run(const std::stop_token& stop);

  // One cycle: decides on the current state and writes the results in parallel. A failed write is
  // unconfirmed or forgotten, and the next cycle, already queued, looks again. Called by run() and
  // by tests.
  void schedule_once();
  // The same, if capacity freed since the last cycle may help a waiting gang. True: a cycle ran.
  // Called by run() and by tests.
  bool schedule_at_capacity();
  // Gangs that were planned or tried so far: the cost of cycles. For metrics and tests.
  std::uint64_t gangs_planned() const { return gangs_planned_; }

 private:
  struct Retry {
    int failures = 0;
    MonoTime due{};
  };

  // Before the snapshot: repeats unconfirmed writes. They are conditional, so this resolves them
  // whether the first write was stored or not.
  void repeat_unconfirmed();
  void expire_plans();
  void watch_uncommitted();
  // Drops back-off and rejections of deleted PodGroups.
  void forget_deleted();
  // A gang with an unconfirmed commit counts as committed: it would not be moved from a lost node,
  // and no bind would repeat the commit. So the object is read.
  void resolve_commits();
  // A pod whose bind got no answer counts as bound: its slot would not be moved from a lost node.
  // So the pod is read.
  void resolve_binds();
  // Those that are due: the API server's limits or the CRD may have changed.
  void forget_old_rejections();
  // Marks all decisions as unconfirmed in the cache first, so that the capacity of those that are
  // not sent yet is counted. Each write replaces one whole status: if this process ends in between,
  // a PodGroup has its old status or its new one, and the next leader decides again.
  void write(std::vector<planner::StatusWrite> writes);
  // Pauses what an old CustomResourceDefinition does not store.
  void pause_if_not_stored(const planner::StatusWrite& decided, const gang::PodGroup& stored);
  planner::CycleOptions find_options();
  // Each once, until it was requeued.
  void log_neglected(std::set<std::string> neglected);
  void after_first_write(const planner::StatusWrite& decided,
                         const Result<gang::PodGroup>& written);
  // Pods of a gang that ends for another one get condition DisruptionTarget.
  void mark_pods(const gang::PodGroup& group, const gang::GangStatus& gang);
  // True if a node gained capacity.
  bool note_changes(const std::vector<planner::NodeChange>& changes);
  // Changes since the cycle's snapshot, including our own writes: no watch event wakes the planner
  // for those.
  void look_at_changes_since();
  // Refreshes the numbers in the messages of waiting gangs now and then.
  void look_when_old();
  void note_rejection(const gang::PodGroup& base, const Error& error);
  void pause_preemption(const gang::PodGroup& base, const gang::PodGroupStatus& decided,
                        const Error& error);
  void after_write(const gang::PodGroup& base, const Result<gang::PodGroup>& written);
  bool must_wait(const std::string& uid);
  void back_off(const std::string& uid);
  // Discards what was decided about it: the last report, and the refusals of gangs behind it.
  void not_stored(const std::string& uid);

  kube::Api& api_;
  PlannerCache& cache_;
  const Clock& clock_;
  const planner::CycleOptions options_;
  const planner::PlanExpiryOptions plan_expiry_;
  const std::size_t parallelism_;
  kube::WorkQueue queue_;
  std::function<void(const CycleTimes&)> observe_ = [](const CycleTimes&) {};
  CycleStep first_step_ = [] { return std::nullopt; };
  std::function<void(const gang::PodGroup&)> observe_start_ = [](const gang::PodGroup&) {};
  PreemptionObserver observe_preemption_ = [](const auto&, const auto&) {};
  ForeignWrites foreign_;
  QueueWrites queues_;
  // Below: used by the planner's thread only.
  planner::CycleState state_;
  std::chrono::nanoseconds deciding_{};  // in the last cycle
  bool has_gained_ = false;              // since the last cycle, for CycleState::waits_otherwise
  std::atomic<std::uint64_t> gangs_planned_{0};
  std::atomic<bool> does_anything_wait_{true};  // read by any thread
  planner::PlanAges plan_ages_;
  std::map<std::string, Retry> retries_;  // by PodGroup UID
  // Nothing is reserved before this, since the API server did not store a reservation. Not set: it
  // stores them.
  std::optional<MonoTime> reserve_again_;
  std::set<std::string> neglected_;  // CycleResult::neglected, as logged
};

}  // namespace nervex::extender
