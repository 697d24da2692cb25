#include "planner/work/start_blocker.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/planner/preemption/preemptions.h"
#include "tests/planner/reservation/reservations.h"

namespace nervex::planner {
namespace {

using testing::a_full_cluster;
using testing::Preemptions;
using testing::Reservations;
using testing::with_a_head;
using State = gang::StartCheck::State;

constexpr const char* kNoAccount = "ServiceAccount trainer does not exist";

gang::StartCheck blocked_by_account() {
  return {State::kBlocked, {"ServiceAccount", "trainer", kNoAccount}};
}

gang::StartCheck& check(Preemptions& world, const std::string& name) {
  return world.get(name).spec.gangs[0].start_check;
}
void mount(gang::PodGroup& group, const std::string& claim) {
  group.spec.gangs[0].members[0].shape.claims = {claim};
}
bool says(Preemptions& world, const std::string& name, std::string_view words) {
  return world.base(name).message.find(words) != std::string::npos;
}
void run(Preemptions& world, int cycles) {
  for (int i = 0; i < cycles; ++i) world.cycle();
}

TEST_CASE("nothing ends for a gang that is known not to start", "[extender][start_blocker]") {
  struct Row {
    std::string when;
    gang::StartCheck check;
    std::vector<std::string> unusable_claims;
    std::string says;  // "": it preempts
  };
  const auto row = GENERATE(values<Row>({
      {"nothing was checked, as by an older controller", {}, {}, ""},
      {"the check has passed", {State::kPassed, {}}, {}, ""},
      {"the controller has not finished the check",
       {State::kPending, {}},
       {},
       "has not checked yet"},
      {"its pods would be refused", blocked_by_account(), {}, kNoAccount},
      {"its claim does not exist",
       {State::kPassed, {}},
       {"data=missing"},
       "PersistentVolumeClaim data does not exist"},
      {"its claim has lost its volume", {}, {"data=lost"}, "data has lost its volume"},
      {"its claim is bound for its first pod", {}, {"data=unbound"}, ""},
      {"another job's claim does not exist", {}, {"others=missing"}, ""},
  }));
  INFO("when " << row.when);
  Preemptions world = a_full_cluster();
  mount(world.get("new"), "data");
  check(world, "new") = row.check;
  world.unusable_claims = row.unusable_claims;
  run(world, 4);
  const bool is_blocked = !row.says.empty();
  CHECK((world.base("old").reason == gang::kReasonPreempted) == !is_blocked);
  if (!is_blocked) return;
  CHECK(world.base("new").victims.empty());
  world.now += std::chrono::seconds(60);
  world.cycle();
  INFO(world.base("new").message);
  CHECK(says(world, "new", "nothing ends and no node is reserved for it"));
  CHECK(says(world, "new", row.says));
  SECTION("it preempts as soon as it can start") {
    check(world, "new") = {State::kPassed, {}};
    world.unusable_claims.clear();
    run(world, 4);
    CHECK(world.base("old").reason == gang::kReasonPreempted);
  }
}

TEST_CASE("a check that takes a moment costs no write of a status", "[extender][start_blocker]") {
  Preemptions world = a_full_cluster();
  check(world, "new").state = State::kPending;
  CHECK(world.cycle() == 1);
  CHECK_FALSE(says(world, "new", "checked"));
  CHECK(world.cycle() == 0);
}

TEST_CASE("a claim for which kube-scheduler refused the last plan keeps the gang from preempting",
          "[extender][start_blocker]") {
  Preemptions world = a_full_cluster();
  mount(world.get("new"), "data");
  world.unusable_claims = {"data=unbound"};
  world.mode = queue::PreemptionMode::kOff;
  world.cycle();
  world.mode = queue::PreemptionMode::kFull;
  world.base("new").refusals = {1, world.now - std::chrono::hours(2), "refused", {"data=unbound"}};
  run(world, 4);
  CHECK(world.base("old").reason == gang::kReasonPlanned);
  CHECK(says(world, "new", "PersistentVolumeClaim data is not bound"));
  world.unusable_claims.clear();
  run(world, 4);
  CHECK(world.base("old").reason == gang::kReasonPreempted);
}

TEST_CASE("a preemption is withdrawn if the gang turns out not to start before a victim is marked",
          "[extender][start_blocker]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  REQUIRE(world.base("new").reason == gang::kReasonPreempting);
  check(world, "new") = blocked_by_account();
  run(world, 5);
  CHECK(world.base("new").victims.empty());
  CHECK(world.base("new").reason == gang::kReasonUnschedulable);
  CHECK(world.base("old").reason == gang::kReasonPlanned);
  CHECK(world.queue("vision").preemptions.empty());
}

TEST_CASE("a preemption whose victims are ending goes on", "[extender][start_blocker]") {
  Preemptions world = a_full_cluster();
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  check(world, "new") = blocked_by_account();
  run(world, 2);
  CHECK(world.base("new").reason == gang::kReasonPreempting);
}

TEST_CASE("no node is reserved for a gang that is known not to start",
          "[extender][start_blocker]") {
  Reservations world;
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  world.wait("head", 2);
  SECTION("its pods would be refused") { check(world, "head") = blocked_by_account(); }
  SECTION("its check is not finished") { check(world, "head").state = State::kPending; }
  SECTION("its claim does not exist") {
    mount(world.get("head"), "data");
    world.unusable_claims = {"data=missing"};
  }
  run(world, 2);
  CHECK(world.reserved("head").empty());
  check(world, "head") = {};
  world.unusable_claims.clear();
  run(world, 2);
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("reserved nodes are given back when the gang turns out not to start",
          "[extender][start_blocker]") {
  Reservations world = with_a_head();
  REQUIRE(world.reserved("head") == "n1 n2");
  check(world, "head") = blocked_by_account();
  run(world, 2);
  CHECK(world.reserved("head").empty());
}

// ---- claims that do not exist

gang::StartCheck blocked_by_claim() {
  return {State::kBlocked, {"ResourceClaim", "gpus", "ResourceClaim gpus does not exist"}};
}

TEST_CASE("a gang whose resource claim does not exist is not planned until it does",
          "[extender][start_blocker]") {
  Preemptions world;
  world.add("new", "vision", 1, 8);
  check(world, "new") = blocked_by_claim();
  run(world, 3);
  CHECK_FALSE(world.base("new").planned);
  CHECK(world.base("new").placements.empty());
  CHECK(world.base("new").reason == gang::kReasonClaimMissing);
  CHECK(says(world, "new", "ResourceClaim gpus does not exist"));
  REQUIRE(world.base("new").cause);
  CHECK(gang::choose_remedy(*world.base("new").cause) == gang::Remedy::kFixPods);
  check(world, "new") = {State::kPassed, {}};
  world.cycle();
  CHECK(world.base("new").planned);
}

TEST_CASE("a plan whose resource claim turns out not to exist gives its nodes back",
          "[extender][start_blocker]") {
  Preemptions world;
  world.add("new", "vision", 2, 8);
  world.cycle();
  REQUIRE(world.base("new").planned);
  world.add("next", "speech", 2, 8);
  check(world, "new") = blocked_by_claim();
  run(world, 2);
  CHECK_FALSE(world.base("new").planned);
  CHECK(world.base("new").reason == gang::kReasonClaimMissing);
  CHECK(world.base("next").planned);
  SECTION("what has started keeps them") {
    world.get("next").spec.gangs[0].start_check = blocked_by_claim();
    world.base("next").committed = true;
    world.cycle();
    CHECK(world.base("next").planned);
  }
}

// ---- the pause after failed starts

// "new" has its nodes by preemption, and its start fails.
void fail_start(Preemptions& world, const std::string& name, std::vector<std::string> waits_for) {
  gang::GangStatus& base = world.base(name);
  base.planned = false;
  base.placements.clear();
  base.reason = gang::kReasonUnschedulable;
  base.refusals = {base.refusals.count + 1, world.now, "kube-scheduler refused learner/0",
                   std::move(waits_for)};
}
// "new" is created again as `again`; "old" and "older" run.
void create_again(Preemptions& world, const std::string& again) {
  world.remove("new");
  world.add(again, "vision", 1, 8);
}
Preemptions with_a_failed_start(std::vector<std::string> waits_for = {}) {
  Preemptions world = a_full_cluster();
  world.mode = queue::PreemptionMode::kOff;
  world.cycle();
  world.mode = queue::PreemptionMode::kFull;
  if (!waits_for.empty()) mount(world.get("new"), "data");
  world.unusable_claims = waits_for;
  fail_start(world, "new", waits_for);
  world.cycle();
  REQUIRE(world.base("new").victims.empty());
  return world;
}

TEST_CASE("a job that is created again has the pause of its failed starts",
          "[extender][failed_starts]") {
  Preemptions world = with_a_failed_start();
  create_again(world, "new");
  run(world, 2);
  CHECK(world.base("new").victims.empty());
  CHECK(says(world, "new", "preempts nothing for now"));
  world.now += std::chrono::seconds(60);
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);

  SECTION("the pause doubles with the next failure") {
    fail_start(world, "new", {});
    world.base("new").victims.clear();
    world.cycle();
    create_again(world, "new");
    world.now += std::chrono::seconds(90);
    world.cycle();
    CHECK(world.base("new").victims.empty());
    world.now += std::chrono::seconds(60);
    world.cycle();
    CHECK(world.base("new").reason == gang::kReasonPreempting);
  }
}

TEST_CASE("a job of another name with equal pods has the pause of an unknown cause",
          "[extender][failed_starts]") {
  Preemptions world = with_a_failed_start();
  create_again(world, "other");
  run(world, 2);
  CHECK(world.base("other").victims.empty());
  CHECK(says(world, "other", "preempts nothing for now"));
}

TEST_CASE("a namespace with many failed starts ends the pauses of no other",
          "[extender][failed_starts]") {
  Preemptions world = with_a_failed_start();
  for (int i = 0; i < 5'000; ++i) {
    world.state.preemption.failed_starts[{"eve", "Pod", "", std::to_string(i)}].until =
        world.now + std::chrono::seconds(100);
  }
  create_again(world, "new");
  run(world, 2);
  CHECK(says(world, "new", "preempts nothing for now"));
  CHECK(world.state.preemption.failed_starts.size() == 65);
}

TEST_CASE("a job with another template has no pause", "[extender][failed_starts]") {
  Preemptions world = with_a_failed_start();
  create_again(world, "new");
  world.get("new").meta.annotations["nervex.sensetime.com/templates"] = "mended";
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
}

TEST_CASE("jobs that mount the claim for which a start failed share the pause",
          "[extender][failed_starts]") {
  Preemptions world = with_a_failed_start({"data=unbound"});
  create_again(world, "other");
  SECTION("it mounts the claim") {
    mount(world.get("other"), "data");
    run(world, 2);
    CHECK(world.base("other").victims.empty());
    SECTION("until the claim can be used") {
      world.unusable_claims.clear();
      world.cycle();
      CHECK(world.base("other").reason == gang::kReasonPreempting);
    }
  }
  SECTION("it mounts none") {
    world.cycle();
    CHECK(world.base("other").reason == gang::kReasonPreempting);
  }
}

TEST_CASE("the pause ends when a gang with that cause has started", "[extender][failed_starts]") {
  Preemptions world = with_a_failed_start();
  create_again(world, "new");
  world.cycle();
  world.get("new").status.gangs.clear();
  world.get("new") = testing::planned(world.get("new"), {"n1"}, true);
  world.base("new").started_at = world.now + std::chrono::seconds(1);
  world.add("waits", "vision", 1, 8);
  world.cycle();
  CHECK(world.state.preemption.failed_starts.empty());
}

}  // namespace
}  // namespace nervex::planner
