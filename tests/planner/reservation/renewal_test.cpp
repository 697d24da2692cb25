// What becomes of a reservation behind jobs that have no deadline.
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include "tests/planner/reservation/reservations.h"

namespace nervex::planner {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Reservations;

// Jobs without a deadline use a node each; "head" waits for one node.
struct Unbounded : Reservations {
  // Since so long.
  void run(const std::string& name, const std::string& node, seconds age, int gpus = 8) {
    add_running(name, "", {node}, gpus);
    base(name).started_at = now - age;
  }
  void wait_for(seconds time) {
    now += time - seconds(2);
    cycle();
    state = {};  // another leader
    cycle();
  }
  const gang::Reservation& reservation() { return *base("head").reservation; }
};

// "young" runs on n1, where the head has reserved its node, and "old" on n2.
Unbounded behind_a_young_job() {
  Unbounded world;
  world.run("young", "n1", minutes(5));
  world.run("old", "n2", minutes(60));
  world.wait("head", 1);
  world.cycle();
  return world;
}

TEST_CASE("a head turns to younger jobs if none that it waits for has ended in ten minutes",
          "[extender][reservation]") {
  Unbounded world = behind_a_young_job();
  REQUIRE(world.reserved("head") == "n1");
  const SysTime since = world.reservation().since;
  SECTION("not before") {
    world.remove("old");
    world.run("new", "n2", seconds(0));
    world.wait_for(minutes(9));
    CHECK(world.reserved("head") == "n1");
    world.wait_for(minutes(1));
    CHECK(world.reserved("head") == "n2");
    CHECK(world.reservation().since > since);
  }
  SECTION("not to older ones") {
    for (int i = 0; i < 10; ++i) world.wait_for(minutes(10));
    CHECK(world.reserved("head") == "n1");
    CHECK(world.reservation().since == since);
  }
  SECTION("to jobs with a deadline of any age") {
    world.remove("old");
    world.run_for("bounded", {"n2"}, 36'000);
    world.wait_for(minutes(10));
    CHECK(world.reserved("head") == "n2");
    CHECK(world.reservation().due.has_value());
  }
}

// Of two jobs on n1, where the head has reserved its node, "young" still runs. n2 is free.
Unbounded behind_two_jobs_of_which_one_has_ended() {
  Unbounded world;
  world.run("young", "n1", minutes(5), 4);
  world.run("younger", "n1", minutes(4), 4);
  world.run("old", "n2", minutes(60));
  world.wait("head", 1);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1");
  world.remove("younger");
  world.remove("old");
  return world;
}

TEST_CASE("a head stays where jobs that it waits for end", "[extender][reservation]") {
  Unbounded world = behind_two_jobs_of_which_one_has_ended();
  world.run("new", "n2", seconds(0));
  world.wait_for(minutes(10));
  CHECK(world.reserved("head") == "n1");
  CHECK(world.reservation().counts_on == std::vector<std::string>{world.get("young").meta.uid});
  world.wait_for(minutes(11));
  CHECK(world.reserved("head") == "n2");
}

TEST_CASE("a head whose guess comes true in part does not leave for a bound elsewhere",
          "[extender][reservation]") {
  Unbounded world = behind_two_jobs_of_which_one_has_ended();
  world.run_for("bounded", {"n2"}, 36'000);
  world.wait_for(minutes(10));
  CHECK(world.reserved("head") == "n1");
  CHECK_FALSE(world.reservation().due.has_value());
}

TEST_CASE("a head that does not know for whom it waits chooses again", "[extender][reservation]") {
  Unbounded world = behind_a_young_job();
  world.remove("old");
  world.run("new", "n2", seconds(0));
  world.base("head").reservation->counts_on.clear();
  world.wait_for(minutes(10));
  CHECK(world.reserved("head") == "n2");
  CHECK(world.reservation().counts_on == std::vector<std::string>{world.get("new").meta.uid});
}

TEST_CASE("a head knows when it starts as soon as all others have a deadline",
          "[extender][reservation]") {
  Unbounded world;
  world.run("young", "n1", minutes(5), 4);
  world.run_for("bounded", {"n1"}, 36'000, 4);
  world.run("old", "n2", minutes(60));
  world.wait("head", 1);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1");
  REQUIRE_FALSE(world.reservation().due.has_value());
  world.remove("young");
  world.wait_for(minutes(10));
  CHECK(world.reserved("head") == "n1");
  CHECK(world.reservation().due.has_value());
}

TEST_CASE("a head keeps new nodes for twice as long as those before", "[extender][reservation]") {
  Unbounded world = behind_a_young_job();
  int moves = 0;
  std::string last = world.reserved("head");
  // Wherever it does not wait, jobs end and others start.
  for (int minute = 0; minute < 10 * (1 + 2 + 4 + 8) + 5; ++minute) {
    const std::string other = world.base("old").placements[0].node == last ? "young" : "old";
    world.remove(other);
    world.run(other, last == "n1" ? "n2" : "n1", seconds(0));
    world.wait_for(minutes(1));
    if (world.reserved("head") != last) ++moves;
    last = world.reserved("head");
  }
  CHECK(moves == 4);
}

TEST_CASE("a head gets past a job that never ends", "[extender][reservation]") {
  Unbounded world;
  std::string first = "n2";
  SECTION("an old one") { world.run("endless", "n1", minutes(60)); }
  SECTION("one that was young once") {
    world.run("endless", "n1", minutes(5));
    first = "n1";
  }
  world.run("small0", "n2", minutes(6), 4);
  world.run("small1", "n2", minutes(9), 4);
  world.wait("head", 1);
  world.cycle();
  REQUIRE(world.reserved("head") == first);
  // On half of n2 each: small jobs of 10 minutes, of which one always waits.
  std::vector<std::string> small{"small0", "small1"};
  int jobs = 2;
  for (int minute = 0; minute < 60 && world.placed("head") == "waits"; ++minute) {
    for (std::string& name : small) {
      if (!world.base(name).planned) continue;
      if (!world.base(name).committed) world.commit(name);
      if (world.now - *world.base(name).started_at < minutes(10)) continue;
      world.remove(name);
      name = "small" + std::to_string(jobs++);
      world.wait(name, 1, 4, 0);
    }
    world.wait_for(minutes(1));
  }
  CHECK(world.placed("head") == "n2");
}

TEST_CASE("a head that stays is written once in ten minutes", "[extender][reservation]") {
  Unbounded world = behind_a_young_job();
  std::size_t writes = 0;
  for (int i = 0; i < 1'300; ++i) writes += world.cycle();
  CHECK(writes <= 2);
}

TEST_CASE("a head chooses again if the clock of the last leader was ahead",
          "[extender][reservation]") {
  Unbounded world = behind_a_young_job();
  world.remove("old");
  world.run("new", "n2", seconds(0));
  world.base("head").reservation->renew_after = world.now + std::chrono::hours(24 * 30);
  world.state = {};
  world.cycle();
  CHECK(world.reserved("head") == "n2");
}

}  // namespace
}  // namespace nervex::planner
