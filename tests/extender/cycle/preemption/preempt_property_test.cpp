// Random lives of preempting gangs: leaders end between any two writes, an old leader writes what
// it has decided on an old state, preemptors and victims leave, change, heal and end, another
// scheduler takes what was freed. Judged by the stored objects alone.
//
//   NERVEX_SIM_SEEDS=5000 extender_core_test "[preempt][property]"
//   NERVEX_SIM_SEED=17 extender_core_test "[preempt][property]"
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "extender/cycle/preemption/preempt.h"
#include "extender/cycle/scheduling_cycle.h"
#include "extender/cycle/settled.h"
#include "extender/recovery/plan_expiry.h"
#include "tests/queue/builders.h"
#include "tests/support/gang_builders.h"
#include "tests/support/seeds.h"

namespace nervex::extender {
namespace {

using queue::Queue;
using testing::a_group;
using testing::a_node;
using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::below;
using testing::view;
using testing::with_quota;

constexpr int kNodes = 3;
constexpr int kGpus = 8;

// What a faulty leader does.
enum class Fault { kNone, kMarksBeforeStored, kPlansAtOnce, kMarksUncounted };

class Life {
 public:
  Life(unsigned seed, Fault fault) : rng_(seed), fault_(fault) {
    for (const char* name : {"a", "b", "c"}) {
      Queue queue = with_quota(a_queue(name), 8);
      queue.namespace_selector = {};
      queue.reclaim = Queue::Reclaim::kAny;
      queue.preemption = Queue::Preemption::kLowerPriority;
      queue.min_runtime_seconds = 60;
      queues_.push_back(std::move(queue));
    }
    set_tree();
  }

  void step() {
    now_ += std::chrono::seconds(1 + below(rng_, 15));
    switch (below(rng_, 10)) {
      case 0:
      case 1:
        return add_job();
      case 2:
        return end_a_job();
      case 3:
        return change_a_job();
      case 4:
        return let_another_scheduler();
      case 5:
        old_ = groups_;  // an old leader stops here
        has_old_ = true;
        return;
      case 6:
        return write_as_old_leader();
      default:
        return run_leader(below(rng_, 3) == 0);
    }
  }
  // No more events: leaders and controllers work until nothing is to be done.
  void come_to_rest() {
    others_.clear();
    has_old_ = false;
    for (int i = 0; i < 120; ++i) {
      now_ += std::chrono::seconds(20);
      is_settled_ = i >= 60;
      run_leader(false);
      control(true);
    }
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        if (gang::is_preempting(gang)) fail(group.meta.name + " never stops preempting");
        if (gang.reason == gang::kReasonPreempted) fail(group.meta.name + " was never requeued");
      }
    }
  }

  const std::vector<std::string>& broken() const { return broken_; }
  std::map<std::string, int> happened;

 private:
  void fail(std::string why) { broken_.push_back(std::move(why)); }

  // ---- events

  void add_job() {
    if (groups_.size() > 8) return;
    const int count = 1 + static_cast<int>(below(rng_, 2));
    const int gpus = below(rng_, 2) == 0 ? 4 : 8;
    const std::string name = fmt::format("job{}", next_job_++);
    gang::PodGroup group =
        a_group(name, {a_set("learner", count, ask(gpus))}, static_cast<int>(below(rng_, 100)),
                static_cast<int>(below(rng_, 3)));
    group.spec.queue = std::string(1, static_cast<char>('a' + below(rng_, 3)));
    groups_.push_back(std::move(group));
  }
  gang::PodGroup* pick() {
    return groups_.empty() ? nullptr : &groups_[below(rng_, static_cast<unsigned>(groups_.size()))];
  }
  void end_a_job() {
    gang::PodGroup* group = pick();
    if (group == nullptr) return;
    if (is_preempting(*group)) ++happened["preemptor deleted"];
    if (is_named(group->meta.uid)) ++happened["victim ended"];
    std::erase_if(groups_,
                  [uid = group->meta.uid](const auto& one) { return one.meta.uid == uid; });
  }
  void change_a_job() {
    gang::PodGroup* group = pick();
    if (group == nullptr || group->status.gangs.empty()) return;
    if (is_preempting(*group)) ++happened["preemptor changed"];
    gang::GangStatus& base = group->status.gangs[0];
    if (base.committed && !base.placements.empty()) {  // healed on the same node
      base.placements[0].number = group->status.next_placement++;
      if (is_named(group->meta.uid)) ++happened["victim healed"];
    } else {
      ++group->spec.gangs[0].members[0].slots[0].incarnation;
      ++group->meta.generation;
    }
    bump(*group);
  }
  void let_another_scheduler() {
    if (!others_.empty() && below(rng_, 2) == 0) {
      others_.pop_back();
      return;
    }
    for (int n = 0; n < kNodes; ++n) {
      if (free_gpus(n) >= 4 && others_.size() < 2) {
        others_.push_back(n);
        ++happened["pod of another scheduler"];
        return;
      }
    }
  }

  // ---- objects

  static void bump(gang::PodGroup& group) {
    group.meta.resource_version = std::to_string(std::stol(group.meta.resource_version) + 1);
  }
  static bool is_preempting(const gang::PodGroup& group) {
    return std::any_of(group.status.gangs.begin(), group.status.gangs.end(),
                       [](const auto& gang) { return gang::is_preempting(gang); });
  }
  bool is_named(const std::string& uid) const {
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Victim& victim : gang.victims) {
          if (victim.pod_group_uid == uid) return true;
        }
      }
    }
    return false;
  }
  // In the status of the Queue for which it ends; at most so many in the period.
  bool is_counted(const std::string& uid) {
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        const bool ends = std::any_of(gang.victims.begin(), gang.victims.end(),
                                      [&](const auto& v) { return v.pod_group_uid == uid; });
        if (!ends) continue;
        for (const Queue& queue : queues_) {
          const auto& times = queue.preemptions;
          if (queue.name != group.status.queue.name) continue;
          return times.size() <= queue::kMostPreemptions &&
                 std::find(times.begin(), times.end(), gang.since) != times.end();
        }
      }
    }
    return false;
  }
  static queue::Settled::Workloads share(std::vector<queue::Workload> workloads) {
    return std::make_shared<const std::vector<queue::Workload>>(std::move(workloads));
  }
  static std::string node(int n) { return "n" + std::to_string(n); }
  int gpus_of(const gang::PodGroup& group) const {
    return static_cast<int>(group.spec.gangs[0].members[0].shape.requests.get("nvidia.com/gpu"));
  }
  // By committed gangs, pods that are ending, and other schedulers.
  int used_gpus(int n) const {
    int used = 4 * static_cast<int>(std::count(others_.begin(), others_.end(), n));
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& placement : gang.placements) {
          if (gang.committed && placement.node == node(n)) used += gpus_of(group);
        }
      }
    }
    for (const Ending& pods : ending_) {
      for (const std::string& one : pods.nodes) used += one == node(n) ? pods.gpus : 0;
    }
    return used;
  }
  int free_gpus(int n) const { return kGpus - used_gpus(n); }

  // ---- leaders

  void set_tree() {
    std::vector<queue::QueuePtr> shared;
    for (const Queue& queue : queues_) shared.push_back(std::make_shared<const Queue>(queue));
    tree_ = std::make_shared<const queue::QueueTree>(std::move(shared));
  }
  void store(const std::vector<queue::Report>& reports) {
    for (const queue::Report& report : reports) {
      for (Queue& queue : queues_) {
        if (queue.name == report.queue) queue.preemptions = report.preemptions;
      }
    }
    set_tree();
  }

  Snapshot make_snapshot(const std::vector<gang::PodGroup>& groups) {
    Snapshot snapshot;
    std::vector<placement::NodeView> nodes;
    for (int n = 0; n < kNodes; ++n) {
      nodes.push_back(view(a_node(node(n), kGpus)));
      nodes.back().free.set("nvidia.com/gpu", free_gpus(n));
    }
    snapshot.nodes = placement::Cluster(nodes);
    queue::SettledWorkloads settled;
    settled.set_tree(tree_);
    for (const gang::PodGroup& group : groups) {
      GroupSeen seen{std::make_shared<const gang::PodGroup>(group), false, {}};
      seen.is_settled = is_settled(group, {});
      if (seen.is_settled) settled.set(group.meta.uid, share(queue::list_workloads(group)));
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Victim& victim : gang.victims) {
          const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& one) {
            return one.meta.uid == victim.pod_group_uid;
          });
          VictimState state = judge_victim(at == groups.end() ? nullptr : &*at, victim);
          for (const Ending& pods : ending_) {
            if (pods.uid == victim.pod_group_uid) state = VictimState::kEnding;
          }
          seen.victims[gang.name].push_back(state);
        }
      }
      seen.is_victim = is_named(group.meta.uid);
      snapshot.groups.push_back(std::move(seen));
    }
    snapshot.facts.settled = settled.get();
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = "rl";
    snapshot.facts.namespaces =
        std::make_shared<const queue::Namespaces>(queue::Namespaces{{"rl", ns}});
    return snapshot;
  }
  void run_leader(bool dies) {
    if (below(rng_, 2) == 0) control(false);
    expire();
    state_.waiting.gain_all();
    CycleResult result = run_cycle(make_snapshot(groups_), std::move(state_), now_, {},
                                   queue::PreemptionMode::kFull);
    state_ = std::move(result.state);
    std::shuffle(result.writes.begin(), result.writes.end(), rng_);
    if (dies && !result.writes.empty()) {
      result.writes.resize(below(rng_, static_cast<unsigned>(result.writes.size())));
      state_ = {};
      ++happened["leader ended between two writes"];
    }
    for (const StatusWrite& write : result.writes) store(write);
    if (!dies) store(result.queues);
    if (fault_ == Fault::kMarksUncounted) {  // the tree that the leader sees stays
      for (Queue& queue : queues_) queue.preemptions.clear();
    }
    commit_plans();
  }
  // As Planner::expire_plans().
  void expire() {
    for (gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : std::vector(group.status.gangs)) {
        if (!gang::is_preempting(gang) || gang.since + kVictimsDeadline > now_) continue;
        auto status = expire_preemption(group, gang.name, true, now_);
        if (!status) continue;
        ++happened["preemption expired"];
        group.status = *std::move(status);
        bump(group);
      }
    }
  }
  void write_as_old_leader() {
    if (!has_old_) return;
    has_old_ = false;
    is_old_ = true;
    CycleResult result = run_cycle(make_snapshot(old_), {}, now_, {}, queue::PreemptionMode::kFull);
    for (const StatusWrite& write : result.writes) store(write);
    is_old_ = false;
    state_ = {};
  }
  // Conditional, as all writes.
  void store(const StatusWrite& write) {
    const auto at = std::find_if(groups_.begin(), groups_.end(), [&](const auto& one) {
      return one.meta.uid == write.group->meta.uid;
    });
    if (at == groups_.end() || at->meta.resource_version != write.group->meta.resource_version) {
      ++happened["conflict"];
      return;
    }
    judge(*at, write.status);
    const bool was_preempting = is_preempting(*at);
    at->status = write.status;
    if (fault_ == Fault::kMarksBeforeStored && is_preempting(*at) && !was_preempting) {
      for (gang::PodGroup& group : groups_) {
        if (!is_named(group.meta.uid)) continue;
        at->status.gangs[0].victims.clear();  // its name is lost, and the mark is not
        gang::PodGroupStatus marked = group.status;
        marked.gangs[0].reason = std::string(gang::kReasonPreempted);
        judge(group, marked);
        group.status = marked;
        break;
      }
    }
    if (fault_ == Fault::kPlansAtOnce) {
      for (gang::GangStatus& gang : at->status.gangs) {
        if (gang::is_preempting(gang)) gang.planned = true;
      }
    }
    bump(*at);
  }
  // What a status may change.
  void judge(const gang::PodGroup& group, const gang::PodGroupStatus& after) {
    for (const gang::GangStatus& gang : after.gangs) {
      const gang::GangStatus* before = gang::find_gang(group.status, gang.name);
      if (gang::is_preempting(gang)) {
        ++happened["victims named"];
        if (gang.planned || gang.committed) fail(group.meta.name + " is planned while it preempts");
      }
      const bool is_marked = gang.reason == gang::kReasonPreempted &&
                             (before == nullptr || before->reason != gang::kReasonPreempted);
      if (is_marked) {
        ++happened["victim marked"];
        if (!is_named(group.meta.uid)) fail(group.meta.name + " is marked, and was not named");
        // The preemption of an old leader was counted for a preemptor that may be another by now.
        if (!is_old_ && !is_counted(group.meta.uid)) {
          fail(group.meta.name + " is marked, and not counted");
        }
        // What has ended for others has come again by then, and does not preempt in turn.
        if (is_settled_) fail(group.meta.name + " ends although nothing has changed");
        const std::int64_t start = gang.placements.empty() ? 0 : gang.placements[0].number;
        if (!ended_.emplace(group.meta.uid, start).second) {
          fail(group.meta.name + " is ended twice");
        }
        if (gang.started_at && *gang.started_at + std::chrono::seconds(60) > now_) {
          fail(group.meta.name + " is ended before its time");
        }
      }
      const bool has_started = gang.planned && before != nullptr && gang::is_preempting(*before);
      if (has_started) ++happened["preemptor started"];
      const bool waits_again = !gang.planned && !gang::is_preempting(gang) && before != nullptr &&
                               gang::is_preempting(*before);
      if (waits_again) ++happened["preemptor waits again"];
    }
  }
  // kube-scheduler binds planned pods: capacity is checked against all that is committed.
  void commit_plans() {
    for (gang::PodGroup& group : groups_) {
      for (gang::GangStatus& gang : group.status.gangs) {
        if (!gang.planned || gang.committed) continue;
        std::map<std::string, int> need;
        for (const auto& placement : gang.placements) need[placement.node] += gpus_of(group);
        const bool fits = std::all_of(need.begin(), need.end(), [&](const auto& one) {
          return free_gpus(one.first[1] - '0') >= one.second;
        });
        if (!fits) {
          if (fault_ == Fault::kPlansAtOnce) fail(group.meta.name + " is bound beyond capacity");
          continue;
        }
        gang.committed = true;
        gang.started_at = now_;
        bump(group);
      }
    }
  }

  // ---- the controller, and kubelets

  struct Ending {
    std::string uid;
    std::vector<std::string> nodes;
    int gpus = 0;
  };
  void control(bool all) {
    if (!ending_.empty() && (all || below(rng_, 2) == 0)) ending_.erase(ending_.begin());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      gang::PodGroup& group = groups_[i];
      if (group.status.gangs.empty() || !gang::is_released(group.status.gangs[0])) continue;
      if (group.status.observed_generation != group.meta.generation) continue;
      if (!all && below(rng_, 2) == 0) continue;
      Ending pods{group.meta.uid, {}, gpus_of(group)};
      for (const auto& placement : group.status.gangs[0].placements) {
        pods.nodes.push_back(placement.node);
      }
      ending_.push_back(std::move(pods));
      group.meta.uid += "'";
      group.meta.name += "'";
      group.status = {};
      bump(group);
      ++happened["victim requeued"];
    }
  }

  std::mt19937 rng_;
  Fault fault_;
  std::vector<Queue> queues_;
  std::shared_ptr<const queue::QueueTree> tree_;
  std::vector<gang::PodGroup> groups_;
  std::vector<gang::PodGroup> old_;
  bool has_old_ = false;
  bool is_old_ = false;  // an old leader writes
  bool is_settled_ = false;
  std::vector<int> others_;  // nodes with a pod of 4 GPUs
  std::vector<Ending> ending_;
  CycleState state_;
  SysTime now_{std::chrono::seconds(10'000)};
  int next_job_ = 0;
  std::set<std::pair<std::string, std::int64_t>> ended_;  // PodGroup UID, first placement
  std::vector<std::string> broken_;
};

std::map<std::string, int> live(Fault fault, const testing::Seeds& seeds, int& broken) {
  std::map<std::string, int> seen;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Life life(seed, fault);
    for (int i = 0; i < 150 && life.broken().empty(); ++i) life.step();
    if (life.broken().empty()) life.come_to_rest();
    if (!life.broken().empty()) ++broken;
    if (fault == Fault::kNone && !life.broken().empty()) {
      FAIL_CHECK("NERVEX_SIM_SEED=" << seed << ": "
                                    << fmt::format("{}", fmt::join(life.broken(), "; ")));
    }
    for (const auto& [what, times] : life.happened) seen[what] += times;
  }
  return seen;
}

TEST_CASE("preemptions end as they should, with any events between their steps",
          "[extender][preempt][property]") {
  const testing::Seeds seeds = testing::seeds_to_try(1, 200);
  int broken = 0;
  const auto seen = live(Fault::kNone, seeds, broken);
  std::string summary;
  for (const auto& [what, times] : seen) summary += fmt::format("\n{:>8} {}", times, what);
  if (seeds.is_chosen) WARN(summary);
  INFO(summary);
  if (seeds.is_chosen) return;
  for (const char* what :
       {"conflict", "leader ended between two writes", "pod of another scheduler",
        "preemptor changed", "preemptor deleted", "preemptor started", "preemptor waits again",
        "victim ended", "victim healed", "victim marked", "victim requeued", "victims named"}) {
    CHECK(seen.count(what) == 1);
  }
}

TEST_CASE("a leader that skips a step of preemption is caught", "[extender][preempt][property]") {
  for (const Fault fault :
       {Fault::kMarksBeforeStored, Fault::kPlansAtOnce, Fault::kMarksUncounted}) {
    int broken = 0;
    live(fault, {1, 40, false}, broken);
    CHECK(broken > 0);
  }
}

}  // namespace
}  // namespace nervex::extender
