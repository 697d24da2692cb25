#include "tests/planner/preemption/simulation/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "gang/slot.h"
#include "planner/recovery/plan_expiry.h"

namespace nervex::testing {

using queue::Queue;
using std::chrono::seconds;

namespace {

constexpr int kNodes = 3;
constexpr seconds kPodGrace{30};

std::string node(int n) { return "n" + std::to_string(n); }

void bump(gang::PodGroup& group) {
  group.meta.resource_version = std::to_string(std::stol(group.meta.resource_version) + 1);
}

bool is_preempting(const gang::PodGroup& group) {
  return std::any_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const auto& gang) { return gang::is_preempting(gang); });
}

}  // namespace

PreemptionLife::PreemptionLife(unsigned seed, PreemptionFault fault)
    : rng_(seed), fault_(fault), uses_classes_(seed % 2 == 0), uses_cpu_(seed % 4 >= 2) {
  leaders_.mode = queue::PreemptionMode::kFull;
  for (const char* name : {"a", "b", "c"}) {
    cluster_.queues.push_back(a_taking_queue(with_quota(a_queue(name), 8)));
    cluster_.queues.back().min_runtime_seconds = 60;
  }
  auto& queues = cluster_.queues;
  if (uses_classes_) {
    queues[0].quota = with_quota(a_queue(""), {{"fast", 8}}).quota;
    queues[1].quota = with_quota(a_queue(""), {{"slow", 8}}).quota;
  }
  constexpr std::int64_t kCpuQuotas[] = {32'000, 64'000, 16'000};
  for (std::size_t i = 0; uses_cpu_ && i < queues.size(); ++i) {
    queues[i].quota.insert(queues[i].quota.begin(), {"cpu", kCpuQuotas[i], {}});
  }
  cluster_.set_tree();
  for (int n = 0; n < kNodes; ++n) {
    const char* node_class = !uses_classes_ ? "" : n == 2 ? "slow" : "fast";
    cluster_.nodes.push_back(node_of_class(node(n), node_class));
  }
}

void PreemptionLife::step() {
  now_ += seconds(1 + below(15));
  switch (below(14)) {
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
      old_ = cluster_.groups;  // an old leader stops here
      return;
    case 6:
      return write_as_old_leader();
    case 7:
      return add_request();
    case 8:
    case 9:
      return evict_a_gang();
    case 10:
      if (below(5) > 0) return;
      away_until_ = std::max(away_until_, now_ + seconds(500));
      return note("controller away");
    default:
      return run_leader(below(3) == 0);
  }
}

void PreemptionLife::come_to_rest() {
  cluster_.others.clear();
  old_.clear();
  away_until_ = now_;
  for (int i = 0; i < 120; ++i) {
    now_ += seconds(20);
    rules_.is_at_rest = i >= 60;
    run_leader(false);
    control(true);
  }
  rules_.check_rest();
}

// ---- users, and what happens to their pods

gang::PodGroup* PreemptionLife::pick() {
  auto& groups = cluster_.groups;
  return groups.empty() ? nullptr : &groups[below(static_cast<unsigned>(groups.size()))];
}

void PreemptionLife::add_job() {
  if (cluster_.groups.size() > 8) return;
  const int count = 1 + static_cast<int>(below(2));
  const int gpus = below(2) == 0 ? 4 : 8;
  constexpr int kCores[] = {1, 8, 32};
  const int cores = uses_cpu_ ? kCores[next_job_ % 3] : 1;
  const std::string name = fmt::format("job{}", next_job_++);
  gang::PodGroup group = a_group(name, {a_set("learner", count, ask(gpus, cores))},
                                 static_cast<int>(below(100)), static_cast<int>(below(3)));
  group.spec.queue = std::string(1, static_cast<char>('a' + below(3)));
  cluster_.groups.push_back(std::move(group));
}

void PreemptionLife::end_a_job() {
  const gang::PodGroup* group = pick();
  if (group == nullptr) return;
  if (is_preempting(*group)) note("preemptor deleted");
  if (cluster_.is_named(group->meta.uid)) note("victim ended");
  const std::string uid = group->meta.uid;
  std::erase_if(cluster_.terminating,
                [&](const auto& pod) { return gang::pod_slot(*pod)->pod_group_uid == uid; });
  std::erase_if(cluster_.groups, [&](const auto& one) { return one.meta.uid == uid; });
}

void PreemptionLife::change_a_job() {
  gang::PodGroup* group = pick();
  if (group == nullptr || group->status.gangs.empty()) return;
  if (is_preempting(*group)) note("preemptor changed");
  gang::GangStatus& base = group->status.gangs[0];
  const bool is_evicted =
      !base.placements.empty() && cluster_.is_terminating(*group, base.placements[0].number);
  if (is_evicted) return;
  if (base.committed && !base.placements.empty()) {  // healed on the same node
    base.placements[0].number = group->status.next_placement++;
    if (cluster_.is_named(group->meta.uid)) note("victim healed");
  } else {
    ++group->spec.gangs[0].members[0].slots[0].incarnation;
    ++group->meta.generation;
  }
  bump(*group);
}

void PreemptionLife::add_request() {
  gang::PodGroup* group = pick();
  if (group == nullptr || group->spec.gangs.size() > 1) return;
  const gang::GangStatus* base = gang::find_gang(group->status, gang::kBaseGang);
  if (base == nullptr || !base->committed || gang::is_released(*base)) return;
  add_member(*group, in_request(a_set("collector", 1, ask(gpus_of(*group))), 1));
  ++group->meta.generation;
  bump(*group);
  note("request added");
}

// The slots keep their placements until the pods have ended.
void PreemptionLife::evict_a_gang() {
  const gang::PodGroup* group = pick();
  if (group == nullptr || group->status.gangs.empty()) return;
  const gang::GangStatus& gang = group->status.gangs.back();
  if (!gang.committed || gang::is_released(gang)) return;
  cluster_.terminate(*group, gang, now_ + kPodGrace);
  note("gang evicted");
}

void PreemptionLife::let_another_scheduler() {
  auto& others = cluster_.others;
  if (!others.empty() && below(2) == 0) {
    others.pop_back();
    return;
  }
  for (int n = 0; n < kNodes; ++n) {
    if (others.size() >= 2 || cluster_.free_gpus(node(n)) < 4) continue;
    others.emplace_back(node(n), 4);
    return note("pod of another scheduler");
  }
}

// ---- the controller, and kubelets

void PreemptionLife::control(bool all) {
  end_pods(all);
  if (now_ < away_until_) return;
  for (gang::PodGroup& group : cluster_.groups) {
    if (group.status.observed_generation != group.meta.generation) continue;
    for (std::size_t i = 0; i < group.status.gangs.size(); ++i) {
      if (!gang::is_released(group.status.gangs[i])) continue;
      if (!all && below(2) == 0) continue;
      i == 0 ? cluster_.requeue(group, now_ + kPodGrace)
             : cluster_.requeue_request(group, i, now_ + kPodGrace);
      note(i == 0 ? "victim requeued" : "request requeued");
      bump(group);
      break;
    }
  }
}

// Those of a gang that was requeued, and one that was evicted: its slot gets the next pod.
void PreemptionLife::end_pods(bool all) {
  auto& pods = cluster_.terminating;
  const auto is_placed = [&](const auto& pod) { return cluster_.is_placed(*pod); };
  const auto orphan = std::find_if_not(pods.begin(), pods.end(), is_placed);
  if (orphan != pods.end() && (all || below(2) == 0)) {
    const std::string uid = gang::pod_slot(**orphan)->pod_group_uid;
    std::erase_if(pods, [&](const auto& pod) {
      return gang::pod_slot(*pod)->pod_group_uid == uid && !is_placed(pod);
    });
  }
  const auto evicted = std::find_if(pods.begin(), pods.end(), is_placed);
  if (evicted == pods.end() || (!all && below(8) > 0)) return;
  const gang::PodSlot slot = *gang::pod_slot(**evicted);
  pods.erase(evicted);
  gang::PodGroup& group = *cluster_.find_uid(slot.pod_group_uid);
  for (gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (gang::SlotId& one : set.slots) {
      if (set.role != slot.role || one != slot.slot) continue;
      ++one.incarnation;
      ++group.meta.generation;
      bump(group);
    }
  }
}

// ---- leaders

// What the faulty leader sees.
planner::Snapshot PreemptionLife::distort(const StoredCluster& cluster) const {
  StoredCluster seen = cluster;
  for (gang::PodGroup& group : seen.groups) {
    for (gang::GangStatus& gang : group.status.gangs) {
      const bool is_late = fault_ == PreemptionFault::kForgetsMarks &&
                           gang.reason == gang::kReasonPreempted &&
                           gang.since + std::chrono::minutes(5) <= now_;
      if (is_late) gang.reason = std::string(gang::kReasonPlanned);
    }
  }
  planner::Snapshot snapshot = seen.snapshot();
  if (fault_ == PreemptionFault::kLendsTwice) {
    for (kube::PodPtr& pod : snapshot.terminating) {
      auto unknown = std::make_shared<kube::Pod>(*pod);
      unknown->meta.annotations = {};
      pod = std::move(unknown);
    }
  }
  const bool is_blind = fault_ == PreemptionFault::kChecksWithoutClasses &&
                        std::any_of(cluster.groups.begin(), cluster.groups.end(), is_preempting);
  if (is_blind) snapshot.facts.class_label = "";
  return snapshot;
}

void PreemptionLife::run_leader(bool ends) {
  if (below(2) == 0) control(false);
  expire();
  rules_.begin_cycle();
  const auto result = leaders_.run(distort(cluster_), now_, ends);
  if (leaders_.is_cut) note("leader ended between two writes");
  for (const planner::StatusWrite& write : result.writes) store(write);
  if (!ends) rules_.check_victims_are_enough();
  cluster_.store(result.queues);
  if (fault_ == PreemptionFault::kMarksUncounted) {  // the tree that the leader sees stays
    for (Queue& queue : cluster_.queues) queue.preemptions.clear();
  }
  commit_plans();
}

// As Planner::expire_plans().
void PreemptionLife::expire() {
  for (gang::PodGroup& group : cluster_.groups) {
    for (const gang::GangStatus& gang : std::vector(group.status.gangs)) {
      const bool is_late =
          gang::is_preempting(gang) && gang.since + planner::kVictimsDeadline <= now_;
      if (!is_late) continue;
      auto status = planner::expire_preemption(group, gang.name, true, now_);
      if (!status) continue;
      note("preemption expired");
      group.status = *std::move(status);
      bump(group);
    }
  }
}

void PreemptionLife::write_as_old_leader() {
  if (old_.empty()) return;
  StoredCluster seen = cluster_;
  seen.groups = std::exchange(old_, {});
  rules_.is_leader_old = true;
  const auto result =
      planner::run_cycle(distort(seen), {}, now_, {{}, queue::PreemptionMode::kFull});
  for (const planner::StatusWrite& write : result.writes) store(write);
  rules_.is_leader_old = false;
  leaders_.forget();
}

// Conditional, as all writes.
void PreemptionLife::store(const planner::StatusWrite& write) {
  gang::PodGroup* group = cluster_.find_uid(write.group->meta.uid);
  if (group == nullptr || group->meta.resource_version != write.group->meta.resource_version) {
    return note("conflict");
  }
  rules_.judge(*group, write.status, now_);
  const bool was_preempting = is_preempting(*group);
  group->status = write.status;
  if (fault_ == PreemptionFault::kMarksBeforeStored && is_preempting(*group) && !was_preempting) {
    for (gang::PodGroup& victim : cluster_.groups) {
      if (!cluster_.is_named(victim.meta.uid)) continue;
      group->status.gangs[0].victims.clear();  // its name is lost, and the mark is not
      gang::PodGroupStatus marked = victim.status;
      marked.gangs[0].reason = std::string(gang::kReasonPreempted);
      rules_.judge(victim, marked, now_);
      victim.status = marked;
      break;
    }
  }
  for (gang::GangStatus& gang : group->status.gangs) {
    const bool is_at_once = fault_ == PreemptionFault::kPlansAtOnce && gang::is_preempting(gang);
    if (is_at_once) gang.planned = true;
  }
  bump(*group);
}

void PreemptionLife::commit_plans() {
  for (gang::PodGroup& group : cluster_.groups) {
    for (gang::GangStatus& gang : group.status.gangs) {
      if (!gang.planned || gang.committed) continue;
      if (cluster_.try_bind(gang, group, now_)) {
        bump(group);
      } else if (fault_ == PreemptionFault::kPlansAtOnce) {
        rules_.fail(group.meta.name + " is bound beyond capacity");
      }
    }
  }
}

}  // namespace nervex::testing
