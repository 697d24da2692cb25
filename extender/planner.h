// extender/planner.h - when does a scheduling cycle run, and how are its decisions written? It runs
// after each change that matters. Only the leader's planner runs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "extender/foreign_writes.h"
#include "extender/plans.h"
#include "extender/scheduling_cycle.h"
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

  // One cycle: decides on what is known now and writes the results one after another. What could
  // not be written is unconfirmed or forgotten, and the next cycle, which is already queued, looks
  // again. Called by run() and by tests.
  void schedule_once();

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
  // Back-off and rejections of PodGroups that do not exist any more.
  void forget_deleted(const Snapshot& snapshot);
  // A gang whose commit is unconfirmed counts as committed, so nothing would move it away from a
  // node that was lost meanwhile, and no bind would repeat the commit: the object has to be read.
  void resolve_commits();
  // A pod whose bind got no answer counts as bound, so nothing would move its slot away from a lost
  // node: the pod has to be read.
  void resolve_binds();
  Rejections rejections();  // those that were not made too long ago
  void write(const PodGroupPtr& base, const gang::PodGroupStatus& status);
  void note_rejection(const gang::PodGroup& base, const Error& error);
  void after_write(const gang::PodGroup& base, const Result<gang::PodGroup>& written);
  bool must_wait(const std::string& uid);
  void back_off(const std::string& uid);
  void forget(const std::string& uid);  // its last reported explanations: they were not stored

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
  PlanAges plan_ages_;
  std::map<std::string, Retry> retries_;      // by PodGroup UID
  std::map<std::string, Rejected> rejected_;  // by PodGroup UID
};

// Whether a change can make a difference to a plan. Heartbeats and conditions of others do not.
bool matters(const NodePtr& before, const NodePtr& after);
bool matters(const PodPtr& before, const PodPtr& after);

}  // namespace nervex::extender
