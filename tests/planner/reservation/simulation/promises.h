// tests/planner/reservation/simulation/promises.h - do leaders keep what reservations and
// preemption promise? Judged by the stored objects.
//
//   bound    a gang with a reservation that says until when starts by then. The bound moves only
//            while its nodes are impossible for it, and begins again when it reserves others
//   who      what makes them impossible is served before the gang, or a node fails
//   lapse    a reservation is given up for one of the reasons that docs/concepts/queue.md has
//   reclaim  only what is preemptible and served after the gang ends for it, and what has got a
//            longer deadline than the one that the reservation counted on
//   turns    no two jobs preempt each other in turn, and no start is ended twice. Quotas alone may
//            let two do so while the use of their queues changes
//   modes    quotas and priorities end what the flag and the queues allow, counted by the Queue
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue/preemption.h"
#include "queue/reservation.h"
#include "tests/planner/reservation/simulation/reserved_view.h"

namespace nervex::testing {

// Borrows the cluster.
class Promises {
 public:
  // `clock_error`: how far the clocks of two leaders may differ.
  Promises(const StoredCluster& cluster, queue::PreemptionMode mode,
           const queue::ReservationOptions& options, std::chrono::seconds clock_error)
      : cluster_(cluster),
        mode_(mode),
        options_(options),
        clock_error_(clock_error),
        view_(cluster, mode, clock_error) {}

  // Before the leader decides.
  void begin_cycle(SysTime now);
  // Before the status is stored.
  void judge(const gang::PodGroup& group, const gang::PodGroupStatus& after);
  // `is_cut`: not all that was decided is stored. `is_leader_new`: the next cycle is another
  // leader's.
  void end_cycle(bool is_cut, bool is_leader_new);
  void note_raise(const std::string& job) { raised_.insert(job); }
  // A node fails, or is back.
  void note_node_change(SysTime now) { node_changed_at_ = now; }
  void fail(std::string why) { broken.push_back(std::move(why)); }

  std::vector<std::string> broken;
  std::map<std::string, int> happened;

 private:
  using Key = GangSeen::Key;
  // A reservation that is stored.
  struct Known : Reserved {
    std::optional<SysTime> impossible_since{};  // as the present leader sees it
    std::optional<SysTime> last_impossible{};
    bool was_preempting = false;  // when last seen
  };

  void judge_victims(const GangSeen& head);
  void judge_reclaim(const GangSeen& head, const gang::Victim& victim);
  void judge_preemption(const GangSeen& head, const gang::Victim& victim);
  void judge_mark(const GangSeen& victim);
  void note_pair(const GangSeen& head, const GangSeen& victim, bool is_for_quota);

  void learn();  // of new reservations, and of who came to their nodes
  bool is_any_starting(const std::vector<std::string>& nodes) const;
  void check_due(const GangSeen& head, const Known& known);
  void check_nodes(const GangSeen& head, Known& known, bool is_cut);
  bool may_be_before(const GangSeen& one, const GangSeen& head) const;
  void check_plans(const GangSeen& head, const Known& known,
                   const std::vector<std::string>& lacking, bool is_cut);
  void check_bound(const GangSeen& head, const Known& known);
  void check_lapse(const GangSeen& head, const Known& known);
  // nullptr: there is no reason.
  const char* find_reason_to_lapse(const GangSeen& head, const Known& known) const;
  const char* find_reason_of_queue(const GangSeen& head) const;
  void check_overlap();
  void check_head();
  void check_queues(bool is_cut);

  const StoredCluster& cluster_;
  const queue::PreemptionMode mode_;
  const queue::ReservationOptions options_;
  const std::chrono::seconds clock_error_;
  ReservedView view_;
  SysTime now_{};
  std::map<Key, Known> known_;
  std::set<Key> preempting_;  // when the last cycle had ended
  bool was_cut_ = false;      // the last cycle was
  // Of this cycle.
  QueueUse use_before_;  // by committed gangs
  std::set<Key> impossible_before_;
  std::set<Key> starting_;
  bool has_preemption_ended_ = false;

  std::set<std::string> raised_;                  // jobs that have raised their deadline
  std::set<std::string> preempted_;               // jobs
  std::set<std::pair<Key, std::int64_t>> ended_;  // gang, first placement
  // A job has preempted the other one, and each time for a quota.
  std::map<std::pair<std::string, std::string>, bool> pairs_;
  std::map<std::string, SysTime> held_since_;  // by queue
  std::string head_;                           // PodGroup UID
  SysTime head_since_{};
  SysTime node_changed_at_{};
  SysTime planned_at_{};  // when a gang was last planned, and not bound yet
};

// Without the marks of its attempts.
std::string job_name(std::string_view pod_group);

}  // namespace nervex::testing
