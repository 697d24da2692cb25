// tests/planner/preemption/preemptions.h - a cluster in which gangs preempt each other,
// driven cycle by cycle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/scheduling_cycle.h"
#include "tests/planner/stored_cluster.h"

namespace nervex::testing {

inline queue::Queue vision() {
  queue::Queue queue = for_all(with_quota(a_queue("vision"), 8));
  queue.reclaim = queue::Queue::Reclaim::kAny;
  return queue;
}
inline queue::Queue speech() {
  queue::Queue queue = for_all(a_queue("speech"));
  queue.preemption = queue::Queue::Preemption::kLowerPriority;
  return queue;
}

// Keeps what cycles write. Pods of a committed gang use its nodes until the test ends them.
struct Preemptions : StoredCluster {
  Preemptions() {
    queues = {vision(), speech()};
    nodes = {view(a_node("n1", 8)), view(a_node("n2", 8))};
  }

  gang::PodGroup& add(const std::string& name, const std::string& queue, int count, int gpus,
                      int priority = 0) {
    gang::PodGroup group = a_group(name, {a_set("learner", count, ask(gpus))}, ++added, priority);
    group.spec.queue = queue;
    return groups.emplace_back(std::move(group));
  }
  // It runs on these nodes since long.
  void add_running(const std::string& name, const std::string& queue,
                   const std::vector<std::string>& on, int gpus, int priority = 0) {
    gang::PodGroup& group = add(name, queue, static_cast<int>(on.size()), gpus, priority);
    group = planned(group, on, true);
    group.status.queue.name = queue;
    group.status.gangs[0].started_at = SysTime(std::chrono::seconds(1));
  }
  // One pod on each of these nodes.
  void add_request(const std::string& name, const std::vector<std::string>& on, int gpus) {
    gang::PodGroup& group = get(name);
    add_member(group, in_request(a_set("collector", static_cast<int>(on.size()), ask(gpus)), 1));
    group = planned(group, on, true, "request-1");
    group.status.gangs[1].started_at = SysTime(std::chrono::seconds(1));
  }
  gang::GangStatus& base(const std::string& name) { return get(name).status.gangs.at(0); }
  gang::GangStatus& request(const std::string& name) { return get(name).status.gangs.at(1); }

  // ---- the controller's part

  // `slowly`: the pods are being deleted; otherwise they have ended.
  void requeue(const std::string& name, bool slowly = false) {
    const auto before = terminating;
    StoredCluster::requeue(get(name), now + grace_period);
    if (!slowly) terminating = before;
  }
  void requeue_request(const std::string& name, bool slowly = false) {
    const auto before = terminating;
    StoredCluster::requeue_request(get(name), 1, now + grace_period);
    if (!slowly) terminating = before;
  }
  void remove(const std::string& name) {
    std::erase_if(groups, [&](const auto& group) { return group.meta.name == name; });
  }
  // The pods of its base gang get a deletionTimestamp.
  void terminate(const std::string& name) {
    StoredCluster::terminate(get(name), base(name), now + grace_period);
  }

  // ---- what the extender does

  planner::Snapshot snapshot() {
    set_tree();
    return StoredCluster::snapshot(mode != queue::PreemptionMode::kOff || reservation.is_on());
  }
  // Number of writes of PodGroups.
  std::size_t cycle() {
    const std::size_t writes = decide_and_write(1'000);
    now += std::chrono::seconds(1);
    return writes;
  }
  // The first `most` writes are stored, those of Queues last.
  std::size_t decide_and_write(std::size_t most) {
    planner::Snapshot seen = snapshot();
    if (tells_gains) state.waiting.gain_all();
    planner::CycleResult result =
        planner::run_cycle(seen, std::move(state), now, {{}, mode, reservation});
    state = std::move(result.state);
    neglected = std::move(result.neglected);
    reports = result.queues;
    planned_gangs = result.planned;
    for (const planner::StatusWrite& write : result.writes) {
      if (most == 0) break;
      --most;
      get(write.group->meta.name).status = write.status;
    }
    if (most > 0) store(result.queues);
    return result.writes.size();
  }
  // Until a gang's status has that reason, at most 10 cycles.
  bool run_until(const std::string& name, std::string_view reason, std::size_t gang = 0) {
    for (int i = 0; i < 10; ++i) {
      const auto& gangs = get(name).status.gangs;
      if (gangs.size() > gang && gangs[gang].reason == reason) return true;
      cycle();
    }
    return false;
  }
  std::vector<std::string> victims(const std::string& name) {
    std::vector<std::string> names;
    for (const gang::Victim& victim : base(name).victims) {
      names.push_back(victim.pod_group + "/" + victim.gang);
    }
    return names;
  }
  // GPUs of that queue in use, as the last cycle reports it.
  std::int64_t used(const std::string& name) const {
    return std::find_if(reports.begin(), reports.end(),
                        [&](const auto& one) { return one.queue == name; })
        ->use.get(kGpu);
  }
  queue::Queue& queue(const std::string& name) {
    return *std::find_if(queues.begin(), queues.end(),
                         [&](const auto& one) { return one.name == name; });
  }

  std::chrono::seconds grace_period{30};
  queue::PreemptionMode mode = queue::PreemptionMode::kFull;
  queue::ReservationOptions reservation{};
  planner::CycleState state;
  std::set<std::string> neglected;     // in the last cycle
  std::size_t planned_gangs = 0;       // in the last cycle
  std::vector<queue::Report> reports;  // of the last cycle
  bool tells_gains = true;             // each cycle plans all that waits, whatever has changed
  SysTime now{std::chrono::seconds(10'000)};
  int added = 0;
};

// Speech borrows both nodes; vision waits for one.
inline Preemptions a_full_cluster() {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.base("old").started_at = SysTime(std::chrono::seconds(2));
  world.add("new", "vision", 1, 8);
  return world;
}

// Speech runs job "a" on n1, and job "b" with a request for `pods` pods on n2; vision waits for
// what the request uses.
inline Preemptions with_a_request(int pods = 1) {
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", std::vector<std::string>(static_cast<std::size_t>(pods), "n2"), 4 / pods);
  world.add("new", "vision", 1, 4);
  return world;
}

}  // namespace nervex::testing
