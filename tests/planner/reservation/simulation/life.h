// tests/planner/reservation/simulation/life.h - a trace of jobs in a small cluster: users,
// the controller, kubelets, nodes that fail, administrators, and leaders that end between two
// writes.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/planner/leaders.h"
#include "tests/planner/reservation/simulation/promises.h"
#include "tests/planner/reservation/simulation/trace.h"

namespace nervex::testing {

enum class Scheduler {
  kReserving,
  kGreedy,    // starts all that fits
  kBlocking,  // its head blocks everything behind it
};

// What a faulty program does; of the leader where nothing else is said.
enum class ReservationFault {
  kNone,
  kForgetsReservations,  // every other cycle, as if a new leader did not read them
  kStretchesDue,         // others may end later than what the head waits for
  kNeverReclaims,        // victims are not stored
  kReclaimsEarlier,      // takes nodes from what is served before the head, too
  kReclaimsAny,          // takes nodes from jobs that are not preemptible
  kIgnoresRaises,        // sees the deadline that a job had first
  kIgnoresPreemptible,   // sees whether a job was preemptible at first
  kForgetsPreemptible,   // the controller: a running job is not preemptible any more
  kShortensRequests,     // believes that requests end at once
  kIgnoresHolds,         // sees queues as they were first
  kPreemptsInQueue,      // as with the flag full, which is reclaim
  kPlansOnLostNodes,
  kHasWrongClock,  // half of the leaders: an hour ahead
};

class ReservationLife {
 public:
  ReservationLife(unsigned seed, const Habits& habits, Scheduler scheduler, ReservationFault fault);

  // Until all jobs have ended, or a promise is broken.
  void run();
  // Of the time in which jobs arrive; work that was lost does not count.
  double utilization() const;

  const std::vector<std::string>& broken() const { return promises_.broken; }
  const std::map<std::string, int>& happened() const { return promises_.happened; }
  double longest_wait = 0;  // seconds

 private:
  struct Running {
    const TraceJob* job = nullptr;
    SysTime start{};
    SysTime end{};
  };

  void note(const char* what) { ++promises_.happened[what]; }
  bool is_one_in(unsigned count) { return below(rng_, count) == 0; }
  SysTime in(unsigned least, unsigned span) {
    return now_ + std::chrono::seconds(least + below(rng_, span));
  }
  const TraceJob& job_of(const gang::PodGroup& group) const;
  bool is(ReservationFault fault) const { return fault_ == fault; }

  // ---- users, administrators, nodes, the controller, kube-scheduler
  void submit();
  void change_jobs();
  void change_running(gang::PodGroup& group, Running& running);
  void hold_queues();
  void fail_nodes();
  void lose_pods(const std::string& node);
  void end_jobs();
  void control();
  void requeue(gang::PodGroup& group);
  void note_terminating();  // when they end
  void note_use(const Running& one, SysTime until);
  void start_jobs();

  // ---- the leader
  StoredCluster distort() const;
  void distort(gang::PodGroup& group) const;
  void choose_clock();
  void confirm_writes();
  bool run_leader();
  void store(planner::StatusWrite& write);
  void keep_undecided(const gang::GangStatus* before, gang::GangStatus& after) const;

  void step(bool is_any_written);

  std::mt19937 rng_;
  const Habits habits_;
  const Scheduler scheduler_;
  const ReservationFault fault_;
  const std::vector<TraceJob> jobs_;
  StoredCluster cluster_;
  Promises promises_;
  Leaders leaders_{rng_};
  std::vector<placement::NodeView> all_nodes_;
  std::vector<queue::Queue> first_queues_;
  std::size_t next_job_ = 0;
  std::map<std::string, Running> running_;          // by PodGroup UID
  std::map<std::string, SysTime> ends_;             // of pods that are being deleted, by UID
  std::set<std::pair<std::string, char>> changed_;  // jobs, and what their users have changed
  SysTime next_outage_{};
  SysTime outage_until_{};  // of the node that is down
  std::string down_;
  SysTime next_hold_{};
  SysTime held_until_{};
  std::chrono::seconds clock_error_{0};  // of the present leader
  bool is_leader_new_ = false;
  std::map<std::string, SysTime> unconfirmed_;  // PodGroups by name, and until when
  std::optional<std::chrono::milliseconds> look_again_;
  int cycles_ = 0;
  double used_ = 0;
  SysTime now_;
};

}  // namespace nervex::testing
