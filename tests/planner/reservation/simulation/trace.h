// tests/planner/reservation/simulation/trace.h - which jobs do users submit, and what do
// they change while these wait and run?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "queue/preemption.h"
#include "queue/queue.h"

namespace nervex::testing {

inline constexpr int kTraceNodes = 8;
inline constexpr int kTraceGpus = 8;    // of a node
inline constexpr int kTraceGrace = 30;  // seconds until pods that are being deleted have ended

// What users, administrators and the cluster do in a trace.
struct Habits {
  bool all_set_deadlines = true;  // otherwise one of three has none
  bool some_raise_them = false;   // then these jobs run for hours
  bool some_change_preemptible = false;
  bool some_grow = false;
  bool have_queues = false;
  queue::PreemptionMode mode = queue::PreemptionMode::kOff;  // with queues
  bool nodes_fail = false;
  bool clocks_differ = false;    // of leaders
  bool some_bind_late = false;   // half of the jobs: kube-scheduler binds them, after a while
  bool writes_time_out = false;  // the leader does not know for a while that they were stored

  // What users do is the same for all schedulers, and no work is lost but by reservations.
  bool is_comparable() const {
    return !some_raise_them && !some_change_preemptible && !some_grow && !have_queues &&
           !nodes_fail && !clocks_differ && !some_bind_late && !writes_time_out;
  }
};
// Half of the seeds have only jobs that come and end.
Habits habits_of(unsigned seed);

// Times in seconds; those after the start count from the job's first one.
struct TraceJob {
  std::string name;
  std::string queue{};
  int priority = 0;
  int pods = 1;
  int gpus = 1;
  int arrives = 0;
  int runs = 0;
  std::optional<int> deadline{};
  bool is_preemptible = false;
  std::optional<int> binds_after{};  // its plan; otherwise it runs at once
  std::optional<int> raises_after{};
  std::optional<int> grows_after{};
  // It becomes preemptible when it has run for so long, or is not any more when it has waited.
  std::optional<int> changes_preemptible_after{};
};

// Most jobs are small, few large ones use most of the GPU time.
std::vector<TraceJob> make_trace(unsigned seed, const Habits& habits);

// The queues of a trace; every job could start in each of them.
std::vector<queue::Queue> make_trace_queues();

}  // namespace nervex::testing
