// Random lives of preempting gangs: leaders end between any two writes, an old leader writes what
// it has decided on an old state, preemptors and victims leave, change, heal and end, jobs add
// requests, gangs are evicted, another scheduler takes what was freed, the controller is away. In
// half of the lives quotas name classes of nodes, in half of them CPUs, too. Judged by the stored
// objects alone.
//
//   NERVEX_SIM_SEEDS=5000 extender_core_test "[preempt][property]"
//   NERVEX_SIM_SEED=17 extender_core_test "[preempt][property]"
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "extender/cycle/preemption/ending.h"
#include "extender/cycle/preemption/preempt.h"
#include "extender/cycle/scheduling_cycle.h"
#include "extender/cycle/settled.h"
#include "extender/recovery/plan_expiry.h"
#include "gang/slot.h"
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
using testing::in_request;
using testing::view;
using testing::with_quota;

constexpr int kNodes = 3;
constexpr int kGpus = 8;

// What a faulty leader does.
enum class Fault {
  kNone,
  kMarksBeforeStored,
  kPlansAtOnce,
  kMarksUncounted,
  kChecksWithoutClasses,  // what it has started, it judges without the classes of nodes
  kLendsTwice,            // a terminating pod, and its slot as given back by a victim
  kMarksWhileAway,        // does not see how old marks are
};

class Life {
 public:
  Life(unsigned seed, Fault fault)
      : rng_(seed), fault_(fault), uses_classes_(seed % 2 == 0), uses_cpu_(seed % 4 >= 2) {
    for (const char* name : {"a", "b", "c"}) {
      Queue queue = with_quota(a_queue(name), 8);
      queue.namespace_selector = {};
      queue.reclaim = Queue::Reclaim::kAny;
      queue.preemption = Queue::Preemption::kLowerPriority;
      queue.min_runtime_seconds = 60;
      queues_.push_back(std::move(queue));
    }
    if (uses_classes_) {
      queues_[0].quota = with_quota(a_queue(""), {{"fast", 8}}).quota;
      queues_[1].quota = with_quota(a_queue(""), {{"slow", 8}}).quota;
    }
    constexpr std::int64_t kCpuQuotas[] = {32'000, 64'000, 16'000};
    for (std::size_t i = 0; uses_cpu_ && i < queues_.size(); ++i) {
      queues_[i].quota.insert(queues_[i].quota.begin(), {"cpu", kCpuQuotas[i], {}});
    }
    set_tree();
  }

  void step() {
    now_ += std::chrono::seconds(1 + below(rng_, 15));
    switch (below(rng_, 14)) {
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
      case 7:
        return add_request();
      case 8:
      case 9:
        return evict_a_gang();
      case 10:
        if (below(rng_, 5) > 0) return;
        away_until_ = now_ + std::chrono::seconds(500);
        ++happened["controller away"];
        return;
      default:
        return run_leader(below(rng_, 3) == 0);
    }
  }
  // No more events: leaders and controllers work until nothing is to be done.
  void come_to_rest() {
    others_.clear();
    has_old_ = false;
    away_until_ = now_;
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
    constexpr int kCores[] = {1, 8, 32};
    const int cores = uses_cpu_ ? kCores[next_job_ % 3] : 1;
    const std::string name = fmt::format("job{}", next_job_++);
    gang::PodGroup group =
        a_group(name, {a_set("learner", count, ask(gpus, cores))},
                static_cast<int>(below(rng_, 100)), static_cast<int>(below(rng_, 3)));
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
    const std::string uid = group->meta.uid;
    std::erase_if(evicted_, [&](const Evicted& one) { return one.uid == uid; });
    std::erase_if(groups_, [&](const auto& one) { return one.meta.uid == uid; });
  }
  void change_a_job() {
    gang::PodGroup* group = pick();
    if (group == nullptr || group->status.gangs.empty()) return;
    if (is_preempting(*group)) ++happened["preemptor changed"];
    gang::GangStatus& base = group->status.gangs[0];
    const bool is_evicted_now =
        !base.placements.empty() && is_evicted(group->meta.uid, base.placements[0].number);
    if (is_evicted_now) return;
    if (base.committed && !base.placements.empty()) {  // healed on the same node
      base.placements[0].number = group->status.next_placement++;
      if (is_named(group->meta.uid)) ++happened["victim healed"];
    } else {
      ++group->spec.gangs[0].members[0].slots[0].incarnation;
      ++group->meta.generation;
    }
    bump(*group);
  }
  void add_request() {
    gang::PodGroup* group = pick();
    if (group == nullptr || group->spec.gangs.size() > 1) return;
    const gang::GangStatus* base = gang::find_gang(group->status, gang::kBaseGang);
    if (base == nullptr || !base->committed || gang::is_released(*base)) return;
    testing::add_member(*group, in_request(a_set("collector", 1, ask(gpus_of(*group))), 1));
    ++group->meta.generation;
    bump(*group);
    ++happened["request added"];
  }
  // The slots keep their placements until the pods have ended.
  void evict_a_gang() {
    const gang::PodGroup* group = pick();
    if (group == nullptr || group->status.gangs.empty()) return;
    const gang::GangStatus& gang = group->status.gangs.back();
    if (!gang.committed || gang::is_released(gang)) return;
    for (const gang::Placement& placement : gang.placements) {
      if (!is_evicted(group->meta.uid, placement.number)) evict(*group, placement);
    }
    ++happened["gang evicted"];
  }
  void evict(const gang::PodGroup& group, const gang::Placement& placement) {
    kube::Pod pod;
    pod.meta.ns = group.meta.ns;
    pod.meta.name = pod.meta.uid = fmt::format("{}-{}", group.meta.uid, placement.number);
    pod.meta.deleting = true;
    for (const auto& [key, value] : gang::annotations_for(
             {group.meta.uid, placement.role, placement.slot, placement.number})) {
      pod.meta.annotations[key] = value;
    }
    pod.node = placement.node;
    pod.requests = ask(gpus_of(group));
    pod.deletion_timestamp = now_ + std::chrono::seconds(30);
    evicted_.push_back({group.meta.uid, placement, std::make_shared<const kube::Pod>(pod)});
  }
  bool is_evicted(const std::string& uid, std::int64_t number) const {
    return std::any_of(evicted_.begin(), evicted_.end(), [&](const Evicted& one) {
      return one.uid == uid && one.placement.number == number;
    });
  }
  // Gangs of several jobs were marked five minutes ago, and their pods run on.
  bool are_marks_old() const {
    std::set<std::string> old;
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        const bool is_old =
            gang.reason == gang::kReasonPreempted && gang.since + std::chrono::minutes(5) <= now_;
        const bool run_on =
            !gang.placements.empty() &&
            std::none_of(gang.placements.begin(), gang.placements.end(),
                         [&](const auto& one) { return is_evicted(group.meta.uid, one.number); });
        const gang::Gang* wanted = gang::find_gang(group.spec, gang.name);
        const bool is_requeued =
            wanted == nullptr || group.status.observed_generation != group.meta.generation;
        if (is_old && run_on && !is_requeued) old.insert(group.meta.uid);
      }
    }
    return old.size() > 1;
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
  // As a victim; any gang of it if `name` is empty.
  bool is_named(const std::string& uid, std::string_view name = "") const {
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Victim& victim : gang.victims) {
          if (victim.pod_group_uid == uid && (name.empty() || victim.gang == name)) return true;
        }
      }
    }
    return false;
  }
  // In the status of the Queue for which it ends; at most so many in the period.
  bool is_counted(const std::string& uid, const std::string& name) {
    for (const gang::PodGroup& group : groups_) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        const bool ends = std::any_of(
            gang.victims.begin(), gang.victims.end(),
            [&](const auto& victim) { return victim.pod_group_uid == uid && victim.gang == name; });
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
    for (const EndingPods& pods : ending_) {
      for (const std::string& one : pods.nodes) used += one == node(n) ? pods.gpus : 0;
    }
    for (const Evicted& one : evicted_) {
      const bool is_extra = one.placement.node == node(n) && !is_committed(one);
      if (is_extra) used += static_cast<int>(one.pod->requests.get("nvidia.com/gpu"));
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
      kube::Node object = a_node(node(n), kGpus);
      object.labels["class"] = class_of(n);
      nodes.push_back(view(std::move(object)));
      nodes.back().free.set("nvidia.com/gpu", free_gpus(n));
    }
    snapshot.nodes = placement::Cluster(nodes);
    snapshot.facts.class_label = "class";
    const queue::FindClass find_class = find_classes(snapshot);
    queue::SettledWorkloads settled;
    settled.set_tree(tree_);
    bool is_any_preempting = false;
    for (const gang::PodGroup& group : groups) {
      is_any_preempting = is_any_preempting || is_preempting(group);
      auto seen_group = std::make_shared<gang::PodGroup>(group);
      if (fault_ == Fault::kMarksWhileAway) hide_age_of_marks(*seen_group);
      GroupSeen seen{std::move(seen_group), false, {}};
      seen.is_settled = is_settled(group, {});
      std::vector<queue::Workload> workloads = queue::list_workloads(group);
      for (queue::Workload& one : workloads) queue::count_classes(one, group, find_class);
      if (seen.is_settled) settled.set(group.meta.uid, share(std::move(workloads)));
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Victim& victim : gang.victims) {
          const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& one) {
            return one.meta.uid == victim.pod_group_uid;
          });
          VictimState state = judge_victim(at == groups.end() ? nullptr : &*at, victim);
          for (const EndingPods& pods : ending_) {
            const bool is_its = pods.uid == victim.pod_group_uid &&
                                (pods.gang == victim.gang || pods.gang == gang::kBaseGang);
            if (is_its) state = VictimState::kEnding;
          }
          seen.victims[gang.name].push_back(state);
        }
      }
      seen.is_victim = is_named(group.meta.uid);
      snapshot.groups.push_back(std::move(seen));
    }
    for (const Evicted& one : evicted_) {
      auto pod = std::make_shared<kube::Pod>(*one.pod);
      if (fault_ == Fault::kLendsTwice) pod->meta.annotations = {};  // nor is its slot known
      snapshot.terminating.push_back(std::move(pod));
    }
    const bool is_blind = fault_ == Fault::kChecksWithoutClasses && is_any_preempting;
    if (is_blind) snapshot.facts.class_label = "";
    snapshot.facts.settled = settled.get();
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = "rl";
    snapshot.facts.namespaces =
        std::make_shared<const queue::Namespaces>(queue::Namespaces{{"rl", ns}});
    return snapshot;
  }
  const char* class_of(int n) const { return !uses_classes_ ? "" : n == 2 ? "slow" : "fast"; }
  void hide_age_of_marks(gang::PodGroup& group) const {
    for (gang::GangStatus& gang : group.status.gangs) {
      if (gang.reason == gang::kReasonPreempted) gang.since = now_;
    }
  }
  void run_leader(bool dies) {
    if (below(rng_, 2) == 0) control(false);
    expire();
    named_.clear();
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
    if (!dies) check_victims_are_enough();
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
  // On the nodes of the gangs that have named victims now: when all that is to end has ended, they
  // fit beside the rest.
  void check_victims_are_enough() {
    for (const auto& [uid, name] : named_) {
      std::map<std::string, int> need;
      std::string stay;
      for (const gang::PodGroup& group : groups_) {
        for (const gang::GangStatus& gang : group.status.gangs) {
          const bool is_it = group.meta.uid == uid && gang.name == name;
          for (const gang::Placement& placement : gang.placements) {
            const bool stays =
                is_it || (!ends(group, gang) && !is_evicted(group.meta.uid, placement.number));
            if (!stays) continue;
            need[placement.node] += gpus_of(group);
            stay += fmt::format(" {}/{} ({}) on {}", group.meta.name, gang.name, gang.reason,
                                placement.node);
          }
        }
      }
      for (const auto& [node, gpus] : need) {
        if (gpus > kGpus && is_on(uid, name, node))
          fail(name + " of " + uid + " ends too little:" + stay);
      }
    }
  }
  bool ends(const gang::PodGroup& group, const gang::GangStatus& gang) const {
    const auto is_one = [&](const gang::GangStatus& one) {
      return gang::is_released(one) || is_named(group.meta.uid, one.name);
    };
    const gang::GangStatus* base = gang::find_gang(group.status, gang::kBaseGang);
    return is_one(gang) || (base != nullptr && is_one(*base));
  }
  bool is_on(const std::string& uid, const std::string& name, const std::string& node) const {
    for (const gang::PodGroup& group : groups_) {
      const gang::GangStatus* gang =
          group.meta.uid == uid ? gang::find_gang(group.status, name) : nullptr;
      if (gang == nullptr) continue;
      return std::any_of(gang->placements.begin(), gang->placements.end(),
                         [&](const auto& placement) { return placement.node == node; });
    }
    return false;
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
      const bool was_preempting = before != nullptr && gang::is_preempting(*before);
      if (gang::is_preempting(gang)) {
        if (!was_preempting) {
          ++happened["victims named"];
          named_.emplace(group.meta.uid, gang.name);
          if (is_settled_) fail(group.meta.name + " preempts although nothing has changed");
        }
        if (gang.planned || gang.committed) fail(group.meta.name + " is planned while it preempts");
      }
      const bool is_marked = gang.reason == gang::kReasonPreempted &&
                             (before == nullptr || before->reason != gang::kReasonPreempted);
      if (is_marked) {
        ++happened["victim marked"];
        // An old leader may mark what was named when it decided: the victim's status is the same.
        if (!is_old_ && !is_named(group.meta.uid, gang.name)) {
          fail(group.meta.name + " is marked, and was not named");
        }
        if (!is_old_ && are_marks_old()) {
          fail(group.meta.name + " is marked while the controller is away");
        }
        // The preemption of an old leader was counted for a preemptor that may be another by now.
        if (!is_old_ && !is_counted(group.meta.uid, gang.name)) {
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
      if (was_preempting && gang.planned) ++happened["preemptor started"];
      const bool waits_again = was_preempting && !gang.planned && !gang::is_preempting(gang);
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

  struct EndingPods {
    std::string uid;
    std::string gang;
    std::vector<std::string> nodes;
    int gpus = 0;
  };
  struct Evicted {
    std::string uid;
    gang::Placement placement;
    PodPtr pod;
  };
  // Its slot has the placement still. Otherwise the pod counts by itself.
  bool is_committed(const Evicted& evicted) const {
    for (const gang::PodGroup& group : groups_) {
      if (group.meta.uid != evicted.uid) continue;
      for (const gang::GangStatus& gang : group.status.gangs) {
        const auto& all = gang.placements;
        if (gang.committed && std::find(all.begin(), all.end(), evicted.placement) != all.end()) {
          return true;
        }
      }
    }
    return false;
  }
  void control(bool all) {
    if (!ending_.empty() && (all || below(rng_, 2) == 0)) ending_.erase(ending_.begin());
    if (!evicted_.empty() && (all || below(rng_, 8) == 0)) end_evicted();
    if (now_ < away_until_) return;
    for (gang::PodGroup& group : groups_) {
      if (group.status.observed_generation != group.meta.generation) continue;
      for (std::size_t i = 0; i < group.status.gangs.size(); ++i) {
        if (!gang::is_released(group.status.gangs[i])) continue;
        if (!all && below(rng_, 2) == 0) continue;
        i == 0 ? requeue_job(group) : requeue_request(group);
        break;
      }
    }
  }
  void end_pods(const gang::PodGroup& group, const gang::GangStatus& gang) {
    EndingPods pods{group.meta.uid, gang.name, {}, gpus_of(group)};
    for (const auto& placement : gang.placements) pods.nodes.push_back(placement.node);
    ending_.push_back(std::move(pods));
    std::erase_if(evicted_, [&](const Evicted& one) {
      return one.uid == group.meta.uid && std::find(gang.placements.begin(), gang.placements.end(),
                                                    one.placement) != gang.placements.end();
    });
  }
  // Its requests end with it.
  void requeue_job(gang::PodGroup& group) {
    for (const gang::GangStatus& gang : group.status.gangs) end_pods(group, gang);
    group.meta.uid += "'";
    group.meta.name += "'";
    group.spec.gangs.resize(1);
    group.status = {};
    bump(group);
    ++happened["victim requeued"];
  }
  void requeue_request(gang::PodGroup& group) {
    end_pods(group, group.status.gangs[1]);
    group.status.gangs[1].placements.clear();
    ++group.spec.gangs[1].members[0].slots[0].incarnation;
    ++group.meta.generation;
    bump(group);
    ++happened["request requeued"];
  }
  // The slot gets its next pod.
  void end_evicted() {
    const Evicted one = evicted_.front();
    evicted_.erase(evicted_.begin());
    for (gang::PodGroup& group : groups_) {
      if (group.meta.uid != one.uid) continue;
      for (gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
        for (gang::SlotId& slot : set.slots) {
          if (set.role != one.placement.role || slot != one.placement.slot) continue;
          ++slot.incarnation;
          ++group.meta.generation;
          bump(group);
        }
      }
    }
  }

  std::mt19937 rng_;
  Fault fault_;
  bool uses_classes_;
  bool uses_cpu_;
  std::vector<Queue> queues_;
  std::shared_ptr<const queue::QueueTree> tree_;
  std::vector<gang::PodGroup> groups_;
  std::vector<gang::PodGroup> old_;
  bool has_old_ = false;
  bool is_old_ = false;  // an old leader writes
  bool is_settled_ = false;
  std::vector<int> others_;  // nodes with a pod of 4 GPUs
  std::vector<EndingPods> ending_;
  std::vector<Evicted> evicted_;
  SysTime away_until_{};
  std::set<std::pair<std::string, std::string>> named_;  // PodGroup UID and gang, in this cycle
  CycleState state_;
  SysTime now_{std::chrono::seconds(10'000)};
  int next_job_ = 0;
  std::set<std::pair<std::string, std::int64_t>> ended_;  // PodGroup UID, first placement
  std::vector<std::string> broken_;
};

std::map<std::string, int> live(Fault fault, const testing::Seeds& seeds, int& broken) {
  std::map<std::string, int> seen;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    if (fault != Fault::kNone && broken > 0) break;
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
        "victim ended", "victim healed", "victim marked", "victim requeued", "victims named",
        "request added", "request requeued", "gang evicted", "controller away"}) {
    CHECK(seen.count(what) == 1);
  }
}

TEST_CASE("a leader that skips a step of preemption is caught", "[extender][preempt][property]") {
  const Fault fault =
      GENERATE(Fault::kMarksBeforeStored, Fault::kPlansAtOnce, Fault::kMarksUncounted,
               Fault::kChecksWithoutClasses, Fault::kLendsTwice, Fault::kMarksWhileAway);
  int broken = 0;
  live(fault, {1, 1'000, false}, broken);
  INFO("fault " << static_cast<int>(fault));
  CHECK(broken > 0);
}

}  // namespace
}  // namespace nervex::extender
