// tests/planner/reservation/reservations.h - a cluster in which gangs wait for reserved
// nodes.
#pragma once

#include <string>
#include <vector>

#include "tests/planner/preemption/preemptions.h"

namespace nervex::testing {

// One queue, the root; nothing is preempted but for reservations. Jobs ask for whole GPUs.
struct Reservations : Preemptions {
  Reservations() {
    mode = queue::PreemptionMode::kOff;
    queues.clear();
    reservation.after = std::chrono::seconds(300);
  }

  // Waits for `count` nodes of 8 GPUs since so many seconds.
  gang::PodGroup& wait(const std::string& name, int count, int gpus = 8, int since = 1'000) {
    gang::PodGroup& group = add(name, "", count, gpus);
    group.spec.queued_since = now - std::chrono::seconds(since);
    return group;
  }
  // Ends after so many seconds from now, its grace period included.
  void run_for(const std::string& name, const std::vector<std::string>& on, int seconds,
               int gpus = 8) {
    add_running(name, "", on, gpus);
    gang::PodGroup& group = get(name);
    base(name).started_at = now - std::chrono::seconds(100);
    group.spec.grace_seconds = 30;
    group.spec.active_deadline_seconds = seconds + 70;
    base(name).planned_run_seconds = seconds + 100;
  }
  void limit(const std::string& name, int seconds) {
    get(name).spec.grace_seconds = 0;
    get(name).spec.active_deadline_seconds = seconds;
  }
  void commit(const std::string& name) {
    base(name).committed = true;
    base(name).started_at = now;
  }
  // All jobs are in this queue, the only one beside the root.
  void move_all_to(const std::string& name) {
    queues = {for_all(a_queue(name))};
    for (gang::PodGroup& group : groups) group.spec.queue = group.status.queue.name = name;
  }
  // "n1 n2"; "": it has no reservation.
  std::string reserved(const std::string& name) {
    std::string names;
    const auto& status = get(name).status;
    if (status.gangs.empty() || !status.gangs[0].reservation) return names;
    for (const auto& one : status.gangs[0].reservation->nodes) {
      names += (names.empty() ? "" : " ") + one.node;
    }
    return names;
  }
  std::string placed(const std::string& name) {
    std::string names;
    for (const auto& one : base(name).placements) names += (names.empty() ? "" : " ") + one.node;
    return base(name).planned ? names : "waits";
  }
  SysTime in(int seconds) const { return now + std::chrono::seconds(seconds); }
};

// "short" runs on n1 for 100 s and "long" on n2 for 1,000 s; "head" waits for both nodes, and has
// reserved them.
inline Reservations with_a_head() {
  Reservations world;
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  world.wait("head", 2);
  world.cycle();
  return world;
}

// The same; "short" has ended, and "tenant", which can be reclaimed, runs on its node.
inline Reservations with_a_tenant() {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("tenant", 1, 8, 0).spec.preemptible = true;
  world.cycle();
  world.commit("tenant");
  return world;
}

// With a head; "short" has ended, and "other", which may run for so many seconds, is planned on its
// node.
inline Reservations with_a_plan(int limit) {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("other", 1, 8, 0);
  world.limit("other", limit);
  world.cycle();
  return world;
}

}  // namespace nervex::testing
