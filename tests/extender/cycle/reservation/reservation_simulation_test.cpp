// Random traces of a small cluster: do gangs that wait start when their reservations say, and what
// does that cost? Compared with two schedulers without reservations: one that starts all that fits,
// and one whose head blocks everything behind it. Leaders end between any two writes; what a new
// one knows is in the stored statuses.
//
//   NERVEX_SIM_SEEDS=5000 extender_core_test "[reservation][property]"
//   NERVEX_SIM_SEED=17 extender_core_test "[reservation][property]"
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "extender/cycle/preemption/preempting.h"
#include "extender/cycle/reservation/reserve.h"
#include "extender/cycle/scheduling_cycle.h"
#include "extender/cycle/settled.h"
#include "gang/slot.h"
#include "tests/queue/builders.h"
#include "tests/support/gang_builders.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace nervex::extender {
namespace {

using std::chrono::seconds;
using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::below;
using testing::view;

constexpr int kNodes = 8;
constexpr int kGpus = 8;
constexpr int kJobs = 100;
constexpr int kGrace = 30;
constexpr seconds kAfter{300};
// From the end of what a head waits for until it starts: its victims are named, counted and marked,
// and their pods end.
constexpr seconds kReclaimTime{kGrace + 30};

enum class Scheduler { kReserving, kGreedy, kBlocking };

// What a faulty scheduler does.
enum class Fault {
  kNone,
  kForgetsReservations,  // every other cycle, as if a new leader did not read them
  kStretchesDue,         // others may end later than what the head waits for
  kNeverReclaims,        // victims are not stored
  kReclaimsEarlier,      // takes nodes from what is served before the head, too
};

struct Job {
  std::string name;
  int pods = 1;
  int gpus = 1;
  int arrives = 0;
  int runs = 0;                 // seconds
  std::optional<int> deadline;  // seconds
  bool is_preemptible = false;
  bool raises_deadline = false;  // when it has started, and runs for hours
};

// Most jobs are small, few large ones use most of the GPU time.
// What users do: all set deadlines, or two of three; some raise them while their jobs run.
struct Habits {
  bool all_set_deadlines = true;
  bool some_raise_them = false;
};
Habits habits_of(unsigned seed) { return {seed % 2 == 0, seed % 4 >= 2}; }

std::vector<Job> make_trace(unsigned seed) {
  const Habits habits = habits_of(seed);
  std::mt19937 rng(seed);
  std::vector<Job> jobs;
  double at = 0;
  std::lognormal_distribution<double> run_time(std::log(300.0), 1.0);
  std::exponential_distribution<double> pause(1.0 / 60.0);
  for (int i = 0; i < kJobs; ++i) {
    Job job;
    job.name = fmt::format("job{:03}", i);
    const unsigned kind = below(rng, 20);
    job.gpus = kind < 6 ? 1 : kind < 9 ? 2 : kind < 12 ? 4 : 8;
    job.pods = kind < 15 ? 1 : kind < 18 ? 2 : kind < 19 ? 4 : 6;
    at += pause(rng);
    job.arrives = static_cast<int>(at);
    job.runs = std::clamp(static_cast<int>(run_time(rng)), 20, 3'000);
    const bool is_bounded = habits.all_set_deadlines || below(rng, 3) > 0;
    if (is_bounded) job.deadline = job.runs + static_cast<int>(below(rng, 600));
    job.is_preemptible = below(rng, 5) == 0;
    job.raises_deadline = below(rng, 25) == 0 && is_bounded && habits.some_raise_them;
    jobs.push_back(job);
  }
  return jobs;
}

class Life {
 public:
  Life(unsigned seed, Scheduler scheduler, Fault fault)
      : rng_(seed + 1'000'000), scheduler_(scheduler), fault_(fault), jobs_(make_trace(seed)) {
    if (scheduler == Scheduler::kReserving) options_.after = kAfter;
  }

  void run() {
    const SysTime limit = kStart + seconds(400'000);
    while (now_ < limit && broken.empty() && (next_job_ < jobs_.size() || !groups_.empty())) {
      submit();
      end_pods();
      control();
      const bool is_any_written = run_leader();
      commit_plans();
      check_reservations();
      step(is_any_written);
    }
    if (broken.empty() && !groups_.empty()) fail(groups_[0].meta.name + " never starts or ends");
  }
  // Of the time in which jobs arrive; work that was lost does not count.
  double utilization() const {
    const double window = static_cast<double>(jobs_.back().arrives);
    return used_ / (window * kNodes * kGpus);
  }

  std::map<std::string, int> happened;
  std::vector<std::string> broken;
  double longest_wait = 0;  // seconds

 private:
  struct Running {
    const Job* job = nullptr;
    SysTime start{};
    SysTime end{};
  };
  struct Ending {
    PodPtr pod;
    SysTime end{};
  };
  struct Known {  // a reservation that was stored
    SysTime since{};
    std::optional<SysTime> due{};  // nullopt: no bound, or a job before it took its nodes
  };
  static constexpr SysTime kStart{seconds(1'000'000)};

  void fail(std::string why) { broken.push_back(std::move(why)); }
  static const gang::GangStatus* base(const gang::PodGroup& group) {
    return gang::find_gang(group.status, gang::kBaseGang);
  }
  // Without the marks of its attempts.
  static std::string job_name(const gang::PodGroup& group) {
    return group.meta.name.substr(0, group.meta.name.find('\''));
  }

  // ---- users and the controller

  void submit() {
    for (; next_job_ < jobs_.size(); ++next_job_) {
      const Job& job = jobs_[next_job_];
      const SysTime at = kStart + seconds(job.arrives);
      if (at > now_) return;
      gang::PodGroup group = a_group(job.name, {a_set("learner", job.pods, ask(job.gpus))});
      group.spec.queued_since = group.meta.created = at;
      group.spec.preemptible = job.is_preemptible;
      group.spec.grace_seconds = kGrace;
      if (job.deadline) group.spec.active_deadline_seconds = *job.deadline;
      group.spec.direct_placement = true;
      groups_.push_back(std::move(group));
    }
  }
  void end_pods() {
    std::erase_if(ending_, [this](const Ending& one) { return one.end <= now_; });
    std::vector<std::string> ended;
    for (auto& [uid, one] : running_) {
      if (one.end <= now_) ended.push_back(uid);
    }
    for (const std::string& uid : ended) {
      note_use(running_.at(uid), now_);
      running_.erase(uid);
      known_.erase(uid);
      std::erase_if(groups_, [&](const auto& group) { return group.meta.uid == uid; });
    }
  }
  void note_use(const Running& one, SysTime until) {
    const SysTime last = kStart + seconds(jobs_.back().arrives);
    const auto time = std::chrono::duration<double>(std::min(until, last) - one.start).count();
    if (time > 0) used_ += time * one.job->pods * one.job->gpus;
  }
  // Preempted jobs are requeued; their pods take a while.
  void control() {
    for (gang::PodGroup& group : groups_) {
      const gang::GangStatus* gang = base(group);
      if (gang == nullptr || gang->reason != gang::kReasonPreempted) continue;
      if (below(rng_, 3) == 0) continue;
      for (const gang::Placement& placement : gang->placements) terminate(group, placement);
      running_.erase(group.meta.uid);
      group.meta.uid += "'";
      group.meta.name += "'";
      group.meta.created = now_;
      group.status = {};
      ++happened["job requeued"];
    }
  }
  void terminate(const gang::PodGroup& group, const gang::Placement& placement) {
    kube::Pod pod;
    pod.meta.ns = group.meta.ns;
    pod.meta.name = pod.meta.uid = fmt::format("{}-{}", group.meta.uid, placement.number);
    pod.meta.deleting = true;
    for (const auto& [key, value] : gang::annotations_for(
             {group.meta.uid, placement.role, placement.slot, placement.number})) {
      pod.meta.annotations[key] = value;
    }
    pod.node = placement.node;
    pod.requests = group.spec.gangs[0].members[0].shape.requests;
    pod.deletion_timestamp = now_ + seconds(kGrace);
    ending_.push_back(
        {std::make_shared<const kube::Pod>(std::move(pod)), now_ + seconds(below(rng_, kGrace))});
  }
  void commit_plans() {
    for (gang::PodGroup& group : groups_) {
      const gang::GangStatus* gang = base(group);
      if (gang == nullptr || !gang->committed || running_.count(group.meta.uid) > 0) continue;
      const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                    [&](const Job& one) { return one.name == job_name(group); });
      const int most = job->deadline.value_or(job->runs);
      int runs = std::min(job->runs, most) + static_cast<int>(below(rng_, kGrace));
      if (job->raises_deadline && started_.insert(job->name).second) {
        group.spec.active_deadline_seconds = 20'000;
        runs = 10'000;
        ++happened["deadline raised"];
      }
      running_[group.meta.uid] = {&*job, now_, now_ + seconds(runs)};
      longest_wait =
          std::max(longest_wait, std::chrono::duration<double>(now_ - group.meta.created).count());
      note_start(group);
    }
    for (int n = 0; n < kNodes; ++n) {
      if (free_gpus(n) < 0) fail(fmt::format("node {} is over its capacity", n));
    }
  }

  // ---- the cluster

  static std::string node(int n) { return "n" + std::to_string(n); }
  int free_gpus(int n) const {
    int used = 0;
    for (const gang::PodGroup& group : groups_) {
      const gang::GangStatus* gang = base(group);
      if (gang == nullptr || !gang->committed) continue;
      const auto gpus =
          static_cast<int>(group.spec.gangs[0].members[0].shape.requests.get("nvidia.com/gpu"));
      for (const auto& one : gang->placements) used += one.node == node(n) ? gpus : 0;
    }
    for (const Ending& one : ending_) {
      if (one.pod->node.str() == node(n)) {
        used += static_cast<int>(one.pod->requests.get("nvidia.com/gpu"));
      }
    }
    return kGpus - used;
  }
  VictimState judge(const gang::Victim& victim) const {
    const auto at = std::find_if(groups_.begin(), groups_.end(), [&](const auto& one) {
      return one.meta.uid == victim.pod_group_uid;
    });
    const VictimState state = judge_victim(at == groups_.end() ? nullptr : &*at, victim);
    const bool is_live = std::any_of(ending_.begin(), ending_.end(), [&](const Ending& one) {
      return gang::pod_slot(*one.pod)->pod_group_uid == victim.pod_group_uid;
    });
    return state == VictimState::kGone && is_live ? VictimState::kEnding : state;
  }
  // As the faulty leader sees it.
  gang::PodGroup distort(gang::PodGroup group) const {
    for (gang::GangStatus& gang : group.status.gangs) {
      if (fault_ == Fault::kForgetsReservations && cycles_ % 2 == 0) gang.reservation.reset();
      if (fault_ == Fault::kStretchesDue && gang.reservation && gang.reservation->due) {
        *gang.reservation->due += seconds(3'000);
      }
      if (fault_ == Fault::kReclaimsEarlier && gang.committed) group.spec.queued_since = now_;
    }
    return group;
  }
  Snapshot make_snapshot() {
    Snapshot snapshot;
    std::vector<placement::NodeView> nodes;
    for (int n = 0; n < kNodes; ++n) {
      nodes.push_back(view(a_node(node(n), kGpus)));
      nodes.back().free.set("nvidia.com/gpu", free_gpus(n));
    }
    snapshot.nodes = placement::Cluster(nodes);
    const gang::PodGroup* head = find_head();
    for (const gang::PodGroup& group : groups_) {
      const bool waits = base(group) == nullptr || !base(group)->committed;
      if (scheduler_ == Scheduler::kBlocking && waits && &group != head) continue;
      GroupSeen seen{std::make_shared<const gang::PodGroup>(distort(group)), false, {}};
      seen.is_settled = is_settled(group, {});
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Victim& victim : gang.victims) {
          seen.victims[gang.name].push_back(judge(victim));
        }
      }
      seen.is_victim = std::any_of(groups_.begin(), groups_.end(), [&](const auto& other) {
        return base(other) != nullptr &&
               std::any_of(base(other)->victims.begin(), base(other)->victims.end(),
                           [&](const auto& one) { return one.pod_group_uid == group.meta.uid; });
      });
      snapshot.groups.push_back(std::move(seen));
    }
    for (const Ending& one : ending_) snapshot.terminating.push_back(one.pod);
    return snapshot;
  }
  const gang::PodGroup* find_head() const {
    const gang::PodGroup* head = nullptr;
    for (const gang::PodGroup& group : groups_) {
      const bool waits = base(group) == nullptr || !base(group)->committed;
      if (waits && (head == nullptr || queue::rank(group) < queue::rank(*head))) head = &group;
    }
    return head;
  }

  // ---- the leader

  bool run_leader() {
    ++cycles_;
    state_.waiting.gain_all();
    CycleResult result = run_cycle(make_snapshot(), std::move(state_), now_, {},
                                   queue::PreemptionMode::kOff, options_);
    state_ = std::move(result.state);
    look_again_ = result.look_again;
    std::shuffle(result.writes.begin(), result.writes.end(), rng_);
    if (scheduler_ == Scheduler::kReserving && below(rng_, 8) == 0) {
      state_ = {};
      if (!result.writes.empty()) {
        result.writes.resize(below(rng_, static_cast<unsigned>(result.writes.size())));
        ++happened["leader ended between two writes"];
      }
      look_again_ = std::chrono::milliseconds(1'000);
    }
    for (StatusWrite& write : result.writes) store(write);
    return !result.writes.empty();
  }
  void store(StatusWrite& write) {
    const auto at = std::find_if(groups_.begin(), groups_.end(), [&](const auto& one) {
      return one.meta.uid == write.group->meta.uid;
    });
    for (gang::GangStatus& gang : write.status.gangs) {
      if (fault_ == Fault::kNeverReclaims && gang::is_preempting(gang)) return;
      // Only what the leader has decided is stored.
      const bool is_stretched =
          fault_ == Fault::kStretchesDue && gang.reservation && gang.reservation->since < now_;
      if (is_stretched && base(*at) != nullptr && base(*at)->reservation) {
        gang.reservation = base(*at)->reservation;
      }
      if (fault_ == Fault::kForgetsReservations && !gang.reservation && base(*at) != nullptr &&
          !gang.planned && !gang.reserve_after) {
        gang.reservation = base(*at)->reservation;
      }
      const gang::GangStatus* before = gang::find_gang(at->status, gang.name);
      const bool was_preempting = before != nullptr && gang::is_preempting(*before);
      if (gang::is_preempting(gang) && !was_preempting) note_preemption(*at, gang);
      const bool is_marked = gang.reason == gang::kReasonPreempted &&
                             (before == nullptr || before->reason != gang::kReasonPreempted);
      if (is_marked && !ended_.insert(at->meta.uid).second) {
        fail(at->meta.name + " is ended twice");
      }
    }
    at->status = std::move(write.status);
  }
  // In turn: each for the other, without having got a longer deadline.
  void note_preemption(const gang::PodGroup& head, const gang::GangStatus& gang) {
    ++happened["nodes taken back"];
    for (const gang::Victim& victim : gang.victims) {
      const std::string other = victim.pod_group.substr(0, victim.pod_group.find('\''));
      preempted_.emplace(job_name(head), other);
      const bool is_raised = started_.count(other) > 0 || started_.count(job_name(head)) > 0;
      if (!is_raised && preempted_.count({other, job_name(head)}) > 0) {
        fail(job_name(head) + " and " + other + " preempt each other in turn");
      }
    }
  }

  // ---- promises

  void check_reservations() {
    if (scheduler_ != Scheduler::kReserving) return;
    for (const gang::PodGroup& group : groups_) {
      const gang::GangStatus* gang = base(group);
      if (gang == nullptr || gang->committed) continue;
      auto known = known_.find(group.meta.uid);
      if (!gang->reservation) {
        if (known != known_.end()) {
          if (!gang->reserve_after) fail(group.meta.name + " lost its reservation");
          known_.erase(known);
          ++happened["reservation lapsed"];
        }
        continue;
      }
      const bool is_new = known == known_.end() || known->second.since != gang->reservation->since;
      if (is_new) {
        ++happened[gang->reservation->due ? "reservation" : "reservation without a bound"];
        known = known_
                    .insert_or_assign(group.meta.uid,
                                      Known{gang->reservation->since, gang->reservation->due})
                    .first;
        check_due(group, *gang->reservation);
      }
      if (known->second.due && *known->second.due + kReclaimTime < now_) {
        fail(group.meta.name + " waits beyond its bound: " + describe(group));
      }
    }
    check_head();
  }
  // What is on the nodes that the job has reserved or been given.
  std::string describe(const gang::PodGroup& group) const {
    const auto seconds_to = [this](SysTime time) {
      return std::chrono::duration_cast<seconds>(time - now_).count();
    };
    const gang::GangStatus& gang = *base(group);
    std::set<std::string> nodes;
    for (const auto& one : gang.placements) nodes.insert(one.node);
    for (const auto& one : gang.reservation->nodes) nodes.insert(one.node);
    std::string text = fmt::format("{} since {} s, reserved since {} s", gang.reason,
                                   seconds_to(gang.since), seconds_to(gang.reservation->since));
    text += ": " + gang.message;
    for (const gang::PodGroup& other : groups_) {
      if (base(other) == nullptr || !base(other)->reservation) continue;
      text += fmt::format("\n  {} has reserved since {} s", other.meta.name,
                          seconds_to(base(other)->reservation->since));
      for (const auto& one : base(other)->reservation->nodes) text += " " + one.node;
    }
    for (const auto& victim : gang.victims) text += ", ends " + victim.pod_group;
    for (const gang::PodGroup& other : groups_) {
      const auto running = running_.find(other.meta.uid);
      if (base(other) == nullptr || running == running_.end()) continue;
      for (const auto& one : base(other)->placements) {
        if (nodes.count(one.node) == 0) continue;
        text += fmt::format("\n  {} on {} since {} s for {} s, at most {} s{} ({})",
                            other.meta.name, one.node, seconds_to(running->second.start),
                            seconds_to(running->second.end),
                            other.spec.active_deadline_seconds.value_or(0),
                            other.spec.preemptible ? ", preemptible" : "", base(other)->reason);
      }
    }
    for (const Ending& one : ending_) {
      text += fmt::format("\n  {} ends on {}", one.pod->meta.name, one.pod->node.str());
    }
    return text;
  }
  // It waits for nothing longer than what runs.
  void check_due(const gang::PodGroup& group, const gang::Reservation& reservation) {
    if (!reservation.due) return;
    SysTime latest = reservation.since + seconds(kGrace + 60);
    for (const gang::PodGroup& other : groups_) {
      const gang::GangStatus* its = base(other);
      if (its == nullptr || !its->started_at || !other.spec.active_deadline_seconds) continue;
      latest = std::max(latest,
                        *its->started_at + seconds(*other.spec.active_deadline_seconds + kGrace));
    }
    if (*reservation.due > latest) fail(group.meta.name + " waits for more than what runs");
  }
  // The first in the order of service has a reservation soon, or had one just now.
  void check_head() {
    const gang::PodGroup* head = find_head();
    if (head == nullptr || base(*head) == nullptr || base(*head)->planned) return;
    if (head->meta.uid != head_) {
      head_ = head->meta.uid;
      head_since_ = now_;
    }
    const bool is_due = std::max(head_since_, head->meta.created + kAfter) + seconds(120) < now_;
    if (is_due && !base(*head)->reservation && !base(*head)->reserve_after) {
      fail(head->meta.name + " has no reservation");
    }
  }
  void note_start(const gang::PodGroup& group) {
    for (const gang::PodGroup& other : groups_) {
      const auto its = known_.find(other.meta.uid);
      if (its == known_.end() || !(queue::rank(group) < queue::rank(other))) continue;
      const auto& reserved = base(other)->reservation;
      const bool is_on_its_nodes =
          reserved && std::any_of(reserved->nodes.begin(), reserved->nodes.end(), [&](auto& one) {
            const auto& placements = base(group)->placements;
            return std::any_of(placements.begin(), placements.end(),
                               [&](const auto& placement) { return placement.node == one.node; });
          });
      if (!is_on_its_nodes) continue;
      its->second.due.reset();
      ++happened["start of a job before it on reserved nodes"];
    }
    const auto known = known_.find(group.meta.uid);
    if (known == known_.end()) return;
    ++happened["start of a reserving job"];
    known_.erase(known);
  }

  void step(bool is_any_written) {
    SysTime next = now_ + seconds(60);
    if (is_any_written) next = now_ + seconds(1);
    if (look_again_) {
      next = std::min(next, now_ + std::chrono::ceil<seconds>(
                                       std::max(*look_again_, std::chrono::milliseconds(1'000))));
    }
    const auto note = [&](SysTime time) { next = std::clamp(time, now_ + seconds(1), next); };
    if (next_job_ < jobs_.size()) note(kStart + seconds(jobs_[next_job_].arrives));
    for (const auto& [uid, one] : running_) note(one.end);
    for (const Ending& one : ending_) note(one.end);
    now_ = next;
  }

  std::mt19937 rng_;
  const Scheduler scheduler_;
  const Fault fault_;
  const std::vector<Job> jobs_;
  queue::ReservationOptions options_{};
  std::size_t next_job_ = 0;
  std::vector<gang::PodGroup> groups_;
  std::map<std::string, Running> running_;  // by PodGroup UID
  std::vector<Ending> ending_;
  std::map<std::string, Known> known_;  // by PodGroup UID
  std::set<std::string> started_;       // jobs that have raised their deadline
  std::set<std::string> ended_;         // PodGroup UIDs
  std::set<std::pair<std::string, std::string>> preempted_;
  std::string head_;
  SysTime head_since_{};
  CycleState state_;
  std::optional<std::chrono::milliseconds> look_again_;
  int cycles_ = 0;
  double used_ = 0;
  SysTime now_ = kStart;
};

struct Figures {
  std::map<std::string, int> happened;
  std::vector<double> to_greedy;    // utilization, as a part of the greedy scheduler's
  std::vector<double> to_blocking;  // the same for the one whose head blocks
  double longest_wait = 0;
  double longest_greedy_wait = 0;
};

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double least(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}
double most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

Figures compare(const testing::Seeds& seeds) {
  Figures figures;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Life life(seed, Scheduler::kReserving, Fault::kNone);
    life.run();
    if (!life.broken.empty()) {
      FAIL_CHECK("NERVEX_SIM_SEED=" << seed << ": "
                                    << fmt::format("{}", fmt::join(life.broken, "; ")));
    }
    for (const auto& [what, times] : life.happened) figures.happened[what] += times;
    // Jobs whose deadlines were raised run for hours, and are ended in between.
    if (habits_of(seed).some_raise_them) continue;
    Life greedy(seed, Scheduler::kGreedy, Fault::kNone);
    greedy.run();
    Life blocking(seed, Scheduler::kBlocking, Fault::kNone);
    blocking.run();
    figures.to_greedy.push_back(life.utilization() / greedy.utilization());
    figures.to_blocking.push_back(life.utilization() / blocking.utilization());
    figures.longest_wait = std::max(figures.longest_wait, life.longest_wait);
    figures.longest_greedy_wait = std::max(figures.longest_greedy_wait, greedy.longest_wait);
  }
  return figures;
}

TEST_CASE("gangs with a reservation start in time, and little is lost by it",
          "[extender][reservation][property]") {
  const testing::Seeds seeds = testing::seeds_to_try(1, testing::kSanitized ? 2 : 40);
  const Figures figures = compare(seeds);
  std::string summary = fmt::format(
      "{} traces: utilization {:.3f} of greedy ({:.3f} to {:.3f}), {:.3f} of blocking; longest "
      "wait {:.0f} s, greedy {:.0f} s",
      seeds.count, mean(figures.to_greedy), least(figures.to_greedy), most(figures.to_greedy),
      mean(figures.to_blocking), figures.longest_wait, figures.longest_greedy_wait);
  for (const auto& [what, times] : figures.happened) {
    summary += fmt::format("\n{:>8} {}", times, what);
  }
  if (seeds.is_chosen) WARN(summary);
  INFO(summary);
  if (seeds.count < 40) return;
  CHECK(mean(figures.to_greedy) >= 0.95);
  CHECK(mean(figures.to_blocking) > 1.0);
  for (const char* what :
       {"deadline raised", "job requeued", "leader ended between two writes", "nodes taken back",
        "reservation", "reservation without a bound", "start of a reserving job"}) {
    INFO(what);
    CHECK(figures.happened.count(what) == 1);
  }
}

TEST_CASE("a scheduler that breaks a rule of reservations is caught",
          "[extender][reservation][property]") {
  if (testing::kSanitized)
    SKIP("what a fault leads to does not depend on sanitizers, and takes minutes");
  const Fault fault = GENERATE(Fault::kForgetsReservations, Fault::kStretchesDue,
                               Fault::kNeverReclaims, Fault::kReclaimsEarlier);
  INFO("fault " << static_cast<int>(fault));
  bool is_caught = false;
  for (unsigned seed = 1; seed <= 200 && !is_caught; ++seed) {
    Life life(seed, Scheduler::kReserving, fault);
    life.run();
    is_caught = !life.broken.empty();
  }
  CHECK(is_caught);
}

}  // namespace
}  // namespace nervex::extender
