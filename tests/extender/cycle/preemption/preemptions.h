// tests/extender/cycle/preemption/preemptions.h - a cluster in which gangs preempt each other,
// driven cycle by cycle.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "extender/cycle/preemption/ending.h"
#include "extender/cycle/preemption/preempting.h"
#include "extender/cycle/scheduling_cycle.h"
#include "extender/cycle/settled.h"
#include "gang/slot.h"
#include "tests/queue/builders.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {

inline queue::Queue for_all(queue::Queue queue) {
  queue.namespace_selector = {};
  return queue;
}
inline queue::Queue vision() {
  queue::Queue queue = for_all(with_quota(a_queue("vision"), 8));
  queue.reclaim = queue::Queue::Reclaim::kAny;
  return queue;
}
inline placement::NodeView node_of_class(const std::string& name, const char* node_class) {
  kube::Node node = a_node(name, 8);
  node.labels["class"] = node_class;
  return view(std::move(node));
}
inline queue::Queue speech() {
  queue::Queue queue = for_all(a_queue("speech"));
  queue.preemption = queue::Queue::Preemption::kLowerPriority;
  return queue;
}

// Keeps what cycles write; one set in each gang. Pods of a committed gang use its nodes until the
// test ends them.
struct Preemptions {
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
  void add_request(const std::string& name, const std::string& node, int gpus) {
    gang::PodGroup& group = get(name);
    add_member(group, in_request(a_set("collector", 1, ask(gpus)), 1));
    group = planned(group, {node}, true, "request-1");
    group.status.gangs[1].started_at = SysTime(std::chrono::seconds(1));
  }
  gang::PodGroup* find(const std::string& name) {
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return group.meta.name == name; });
    return at == groups.end() ? nullptr : &*at;
  }
  gang::PodGroup& get(const std::string& name) { return *find(name); }
  gang::GangStatus& base(const std::string& name) { return get(name).status.gangs.at(0); }
  gang::GangStatus& request(const std::string& name) { return get(name).status.gangs.at(1); }

  // ---- the controller's part

  // The next attempt is a PodGroup of its own. `slowly`: the pods of this one are being deleted.
  void requeue(const std::string& name, bool slowly = false) {
    gang::PodGroup next = get(name);
    if (slowly) terminate(name);
    remove(name);
    next.meta.name += "-again";
    next.meta.uid += "-again";
    next.status = {};
    groups.push_back(std::move(next));
  }
  // Its pod has the next incarnation.
  void requeue_request(const std::string& name, bool slowly = false) {
    if (slowly) terminate(name, "request-1");
    ++get(name).spec.gangs.at(1).members.at(0).slots.at(0).incarnation;
    ++get(name).meta.generation;
  }
  void remove(const std::string& name) {
    settled.erase(get(name).meta.uid);
    std::erase_if(groups, [&](const auto& group) { return group.meta.name == name; });
  }
  // The pods of its gang get a deletionTimestamp.
  void terminate(const std::string& name, std::string_view gang = gang::kBaseGang) {
    const gang::PodGroup& group = get(name);
    for (const gang::Placement& placement : gang::find_gang(group.status, gang)->placements) {
      kube::Pod pod;
      pod.meta.ns = group.meta.ns;
      pod.meta.name = name + "-" + std::to_string(placement.number);
      pod.meta.uid = group.meta.uid + pod.meta.name;
      pod.meta.deleting = true;
      for (const auto& [key, value] : gang::annotations_for(
               {group.meta.uid, placement.role, placement.slot, placement.number})) {
        pod.meta.annotations[key] = value;
      }
      pod.node = placement.node;
      pod.requests = gang::find_gang(group.spec, gang)->members.at(0).shape.requests;
      pod.deletion_timestamp = now + grace_period;
      terminating.push_back(std::make_shared<const kube::Pod>(std::move(pod)));
    }
  }

  // ---- what the extender sees

  bool is_terminating(const gang::PodGroup& group, std::int64_t number) const {
    return std::any_of(terminating.begin(), terminating.end(), [&](const auto& pod) {
      const auto slot = gang::pod_slot(*pod);
      return slot && slot->pod_group_uid == group.meta.uid && slot->placement == number &&
             pod->meta.ns == group.meta.ns;
    });
  }
  std::vector<placement::NodeView> free_nodes() const {
    std::vector<placement::NodeView> free = nodes;
    const auto take = [&](const std::string& name, const kube::Resources& amount) {
      for (placement::NodeView& view : free) {
        if (view.node->name == name) view.free -= amount;
      }
    };
    for (const gang::PodGroup& group : groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        const gang::Gang* spec = gang::find_gang(group.spec, gang.name);
        if (!gang.committed || spec == nullptr) continue;
        for (const auto& placement : gang.placements) {
          if (is_terminating(group, placement.number)) continue;
          if (finished.count({group.meta.uid, placement.number}) > 0) continue;
          if (!gang::wants(spec->members[0], placement.role, placement.slot)) continue;
          take(placement.node, spec->members[0].shape.requests);
        }
        for (const gang::ReservedCapacity& one : gang.reserved) {
          const gang::MemberSet* set = gang::find_set(group.spec, one.set);
          for (int i = 0; set != nullptr && i < one.count; ++i) {
            take(one.node, set->shape.requests);
          }
        }
      }
    }
    for (const auto& [node, gpus] : others) take(node, ask(gpus));
    for (const auto& pod : terminating) take(pod->node.str(), pod->requests);
    return free;
  }
  extender::VictimState see_victim(const gang::Victim& victim) {
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& one) {
      return one.meta.uid == victim.pod_group_uid;
    });
    const auto found = extender::judge_victim(at == groups.end() ? nullptr : &*at, victim);
    const bool is_live = std::any_of(terminating.begin(), terminating.end(), [&](const auto& pod) {
      return gang::pod_slot(*pod)->pod_group_uid == victim.pod_group_uid;
    });
    return found == extender::VictimState::kGone && is_live ? extender::VictimState::kEnding
                                                            : found;
  }
  bool is_victim(const std::string& uid) const {
    return std::any_of(groups.begin(), groups.end(), [&](const auto& other) {
      return std::any_of(other.status.gangs.begin(), other.status.gangs.end(), [&](const auto& g) {
        return std::any_of(g.victims.begin(), g.victims.end(),
                           [&](const auto& victim) { return victim.pod_group_uid == uid; });
      });
    });
  }
  extender::GroupSeen see(const gang::PodGroup& group) {
    extender::GroupSeen seen{std::make_shared<const gang::PodGroup>(group), false, {}};
    seen.is_settled = extender::is_settled(group, {});
    for (const gang::GangStatus& gang : group.status.gangs) {
      for (const gang::Victim& victim : gang.victims) {
        seen.victims[gang.name].push_back(see_victim(victim));
      }
    }
    seen.is_victim = is_victim(group.meta.uid);
    for (const auto& [uid, number] : finished) {
      if (uid == group.meta.uid) seen.finished.insert(number);
    }
    for (const gang::GangStatus& gang : group.status.gangs) {
      for (const gang::Placement& placement : gang.placements) {
        if (lost.count({group.meta.uid, placement.number}) == 0) continue;
        seen.open.push_back({placement, extender::OpenSlot::Why::kNodeLost, "its node is lost"});
      }
    }
    return seen;
  }
  std::vector<queue::Workload> list_orphaned() const {
    std::map<std::string, queue::Workload> by_id;
    for (const auto& pod : terminating) {
      const auto slot = *gang::pod_slot(*pod);
      const std::string& uid = slot.pod_group_uid;
      const bool is_placed = std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
        const auto* placement = gang::find_placement(group.status, slot.role, slot.slot);
        return group.meta.uid == uid && placement != nullptr && placement->number == slot.placement;
      });
      if (is_placed) continue;
      queue::Workload& workload = by_id[pod->meta.ns.str() + "/" + uid];
      workload.id = pod->meta.ns.str() + "/" + uid;
      workload.queue = "speech";
      workload.state = queue::Workload::State::kRunning;
      queue::add_requests(workload.requests, pod->requests);
    }
    std::vector<queue::Workload> orphaned;
    for (auto& [id, workload] : by_id) orphaned.push_back(std::move(workload));
    return orphaned;
  }
  extender::Snapshot snapshot() {
    set_tree();
    extender::Snapshot snapshot;
    snapshot.nodes = free_nodes();
    snapshot.facts.class_label = "class";
    const queue::FindClass find_class = extender::find_classes(snapshot);
    for (const gang::PodGroup& group : groups) {
      extender::GroupSeen seen = see(group);
      std::vector<queue::Workload> workloads;
      if (seen.is_settled) workloads = queue::list_workloads(group);
      for (queue::Workload& one : workloads) queue::count_classes(one, group, find_class);
      settled.set(group.meta.uid,
                  std::make_shared<const std::vector<queue::Workload>>(std::move(workloads)));
      snapshot.groups.push_back(std::move(seen));
    }
    snapshot.facts.settled = settled.get();
    snapshot.facts.orphaned = list_orphaned();
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = "rl";
    snapshot.facts.namespaces =
        std::make_shared<const queue::Namespaces>(queue::Namespaces{{"rl", ns}});
    const bool may_end_any = mode != queue::PreemptionMode::kOff || reservation.is_on();
    if (may_end_any) snapshot.terminating = terminating;
    return snapshot;
  }

  // ---- what it does

  // Number of writes of PodGroups.
  std::size_t cycle() {
    const std::size_t writes = decide_and_write(1'000);
    now += std::chrono::seconds(1);
    return writes;
  }
  // The first `most` writes are stored, those of Queues last.
  std::size_t decide_and_write(std::size_t most) {
    extender::Snapshot seen = snapshot();
    if (tells_gains) state.waiting.gain_all();
    extender::CycleResult result =
        extender::run_cycle(seen, std::move(state), now, {}, mode, reservation);
    state = std::move(result.state);
    neglected = std::move(result.neglected);
    for (const extender::StatusWrite& write : result.writes) {
      if (most == 0) break;
      --most;
      get(write.group->meta.name).status = write.status;
    }
    if (most > 0 && !result.queues.empty()) {
      reports = std::move(result.queues);
      for (const queue::Report& report : reports) {
        for (queue::Queue& queue : queues) {
          if (queue.name == report.queue) queue.preemptions = report.preemptions;
        }
      }
    }
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
  void set_tree() {
    std::vector<queue::QueuePtr> shared;
    for (const queue::Queue& one : queues) {
      shared.push_back(std::make_shared<const queue::Queue>(one));
    }
    settled.set_tree(std::make_shared<const queue::QueueTree>(std::move(shared)));
  }
  queue::Queue& queue(const std::string& name) {
    return *std::find_if(queues.begin(), queues.end(),
                         [&](const auto& one) { return one.name == name; });
  }

  std::vector<queue::Queue> queues{vision(), speech()};
  std::vector<placement::NodeView> nodes{view(a_node("n1", 8)), view(a_node("n2", 8))};
  std::vector<std::pair<std::string, int>> others;  // pods of another scheduler: node, GPUs
  std::vector<extender::PodPtr> terminating;
  std::set<std::pair<std::string, std::int64_t>> finished;  // PodGroup UID, placement
  std::set<std::pair<std::string, std::int64_t>> lost;      // the same, on nodes that are lost
  bool tells_gains = true;  // each cycle plans all that waits, whatever has changed
  std::chrono::seconds grace_period{30};
  queue::PreemptionMode mode = queue::PreemptionMode::kFull;
  queue::ReservationOptions reservation{};
  queue::SettledWorkloads settled;
  std::vector<gang::PodGroup> groups;
  std::vector<queue::Report> reports;
  extender::CycleState state;
  std::set<std::string> neglected;  // in the last cycle
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

// Speech runs job "a" on n1, and job "b" with a request on n2; vision waits for what the request
// uses.
inline Preemptions with_a_request() {
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", "n2", 4);
  world.add("new", "vision", 1, 4);
  return world;
}

// Job "b" runs on n2 with a request for two pods; "new" wants what the request uses and what is
// free.
inline Preemptions with_a_request_of_two() {
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  gang::PodGroup& job = world.get("b");
  add_member(job, in_request(a_set("collector", 2, ask(2)), 1));
  job = planned(job, {"n2", "n2"}, true, "request-1");
  world.request("b").started_at = SysTime(std::chrono::seconds(1));
  world.add("new", "vision", 1, 4);
  return world;
}

}  // namespace nervex::testing
