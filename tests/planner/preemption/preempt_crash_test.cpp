// Every point at which a preemption can be cut off: the leader ends after each of its writes, and
// meanwhile the preemptor or a victim leaves, changes, ends or heals.
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include <functional>

#include "tests/planner/preemption/preemptions.h"

namespace nervex::planner {
namespace {

using testing::Preemptions;

// Job "new" needs both nodes; "old" and "older" run there.
class Story {
 public:
  Story() {
    world.queue("vision").quota = testing::with_quota(testing::vision(), 16).quota;
    world.add_running("old", "speech", {"n1"}, 8);
    world.add_running("older", "speech", {"n2"}, 8);
    world.add("new", "vision", 2, 8);
  }

  // `dies_after`: so many writes are stored, then a new leader goes on.
  void run(std::size_t dies_after, const std::function<void(Preemptions&)>& event, int event_at) {
    bool is_dead = false;
    std::size_t left = dies_after;
    for (int i = 0; i < 30; ++i) {
      if (i == event_at) event(world);
      const std::size_t before = left;
      const std::size_t writes = world.decide_and_write(is_dead ? 1'000 : left);
      left -= std::min(left, writes);
      if (!is_dead && writes >= before) {
        is_dead = true;
        world.state = {};
      }
      // The pause after a preemption that was withdrawn passes.
      world.now += std::chrono::seconds(i < 12 ? 1 : 5);
      control();
    }
  }

  // A job has ended for another one so often.
  std::map<std::string, int> ended;
  Preemptions world;

 private:
  // The controller requeues in one cycle, and the pods have ended in the next one; kube-scheduler
  // binds what is planned.
  void control() {
    world.terminating.clear();
    std::vector<std::string> preempted;
    for (gang::PodGroup& group : world.groups) {
      if (group.status.gangs.empty()) continue;
      gang::GangStatus& base = group.status.gangs[0];
      if (base.reason == gang::kReasonPreempted) preempted.push_back(group.meta.name);
      if (!base.planned || base.committed) continue;
      base.committed = true;
      base.started_at = world.now;
    }
    for (const std::string& name : preempted) {
      ++ended[name];
      world.requeue(name, true);
    }
  }
};

TEST_CASE("wherever a preemption is cut off, the preemptor runs, and no job ends twice",
          "[extender][preempt]") {
  struct Event {
    std::string what;
    std::function<void(Preemptions&)> happens;
  };
  const std::vector<Event> events{
      {"nothing happens", [](Preemptions&) {}},
      {"the preemptor is deleted",
       [](Preemptions& world) {
         if (world.find("new") != nullptr) world.remove("new");
       }},
      {"the preemptor changes",
       [](Preemptions& world) {
         gang::PodGroup& group = world.get("new");
         if (!group.status.gangs.empty() && group.status.gangs[0].committed) return;
         ++group.spec.gangs[0].members[0].slots[0].incarnation;
         ++group.meta.generation;
       }},
      {"a victim ends by itself",
       [](Preemptions& world) {
         if (world.find("old") != nullptr) world.remove("old");
       }},
      {"a victim is healed on its node",
       [](Preemptions& world) {
         gang::PodGroup* group = world.find("old");
         if (group == nullptr) return;
         group->status.gangs[0].placements[0].number = group->status.next_placement++;
       }},
      {"its queue is held",
       [](Preemptions& world) { world.queue("vision").stop = queue::Queue::Stop::kHold; }},
      {"the flag is set to off",
       [](Preemptions& world) { world.mode = queue::PreemptionMode::kOff; }},
  };
  int starts = 0;
  for (const Event& event : events) {
    for (std::size_t dies_after = 0; dies_after < 8; ++dies_after) {
      for (int at = 0; at < 10; ++at) {
        INFO(event.what << " in cycle " << at << ", and the leader ends after " << dies_after
                        << " writes");
        Story story;
        story.run(dies_after, event.happens, at);
        for (const auto& [name, times] : story.ended) {
          CHECK((name == "old" || name == "older"));  // none that came again
          CHECK(times == 1);
        }
        for (const gang::PodGroup& group : story.world.groups) {
          REQUIRE(group.status.gangs.size() == 1);
          const gang::GangStatus& base = group.status.gangs[0];
          CHECK(base.victims.empty());
          CHECK(base.reason != gang::kReasonPreempting);
          CHECK(base.reason != gang::kReasonPreempted);
        }
        const gang::PodGroup* preemptor = story.world.find("new");
        const bool runs = preemptor != nullptr && preemptor->status.gangs[0].committed;
        starts += runs ? 1 : 0;
        // One that changes plans again, and what has ended for it is young by then.
        const bool must_run = event.what == "nothing happens" ||
                              event.what == "a victim ends by itself" ||
                              event.what == "a victim is healed on its node";
        if (must_run) CHECK(runs);
      }
    }
  }
  CHECK(starts > 300);
}

}  // namespace
}  // namespace nervex::planner
