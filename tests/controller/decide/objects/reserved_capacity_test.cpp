#include "demand/reserved_capacity.h"
#include "demand/gangs.h"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <random>

#include "tests/controller/world.h"
#include "tests/support/gang_builders.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using namespace std::chrono_literals;
using job::Role;
using testing::a_job;
using testing::an_entry;
using testing::multi_gpu_entry;
using testing::World;

using Lines = std::vector<std::string>;

// "learner: 1 slot, 2 reserved"; "request-1-learner: 2 slots, 2 of learner".
Lines describe_sets(const gang::PodGroupSpec& spec) {
  Lines lines;
  for (const auto& set : gang::all_sets(spec.gangs)) {
    const bool takes_part = set.reserved_pods > 0 || set.from_reserved.count > 0;
    if (set.role == "coordinator" || (set.role == "aggregator" && !takes_part)) continue;
    const auto slots = set.slots.size();
    std::string line = set.name + ": " + std::to_string(slots) + (slots == 1 ? " slot" : " slots");
    if (set.reserved_pods > 0) line += ", " + std::to_string(set.reserved_pods) + " reserved";
    if (set.from_reserved.count > 0) {
      line += ", " + std::to_string(set.from_reserved.count) + " of " + set.from_reserved.set;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}
Lines describe_group_sets(const World& world) {
  return describe_sets(world.seen.pod_groups.at(0)->spec);
}

job::Job reserving(int learners, int replicas = 0) {
  job::Job job = a_job(0, replicas);
  job.spec.learner->reserved_replicas = learners;
  return job;
}

// Its gang is committed, and its coordinator runs.
World running(job::Job job) {
  World world(std::move(job));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.start();
  world.commit();
  return world;
}

void ask(World& world, job::RequestEntry entry) {
  entry.attempt = world.seen.job.status.attempt;
  auto& requests = world.seen.job.spec.requests;
  int& next = entry.role == Role::kCollector ? requests.next_collector : requests.next_learner;
  for (const auto& slot : entry.slots) next = std::max(next, slot.ordinal + 10);
  requests.next_id = entry.id + 1;
  requests.entries.push_back(std::move(entry));
  ++world.seen.job.meta.generation;
  world.settle();
}

TEST_CASE("the PodGroup reserves capacity for reservedReplicas beyond the base replicas",
          "[controller][reserved_capacity]") {
  struct Row {
    std::string when;
    job::Job job;
    Lines want;
  };
  const auto both = [] {
    job::Job job = reserving(3);
    job.spec.collector->reserved_replicas = 2;
    return job;
  };
  const auto without_template = [] {
    job::Job job = reserving(3);
    job.spec.learner->pod_template = Json();
    return job;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"there are no base replicas", reserving(3), {"learner: 0 slots, 3 reserved"}},
      {"some are base replicas", reserving(3, 1), {"learner: 1 slot, 2 reserved"}},
      {"all are", reserving(3, 3), {"learner: 3 slots"}},
      {"there are more base replicas", reserving(3, 4), {"learner: 4 slots"}},
      {"both roles have some",
       both(),
       {"collector: 0 slots, 2 reserved", "learner: 0 slots, 3 reserved"}},
      {"the role has no template", without_template(), {}},
  }));
  INFO("when " << row.when);
  World world(row.job);
  world.settle();
  CHECK(describe_group_sets(world) == row.want);
  CHECK(world.settle() == 0);
}

TEST_CASE("before the gang is committed the reservation follows the job",
          "[controller][reserved_capacity]") {
  World world(reserving(3));
  world.settle();
  world.seen.job.spec.learner->reserved_replicas = 5;
  world.settle();
  CHECK(describe_group_sets(world) == Lines{"learner: 0 slots, 5 reserved"});
  world.seen.job.spec.learner->replicas = 2;
  world.settle();
  CHECK(describe_group_sets(world) == Lines{"learner: 2 slots, 3 reserved"});
}

TEST_CASE("a request takes over reserved capacity in the write that adds its slots",
          "[controller][reserved_capacity]") {
  struct Row {
    std::string when;
    std::vector<job::RequestEntry> asked;
    Lines want;
  };
  const auto larger = [] {
    auto entry = an_entry(1, Role::kLearner, 2);
    entry.memory = "1Gi";  // the template has none
    return entry;
  };
  const auto smaller = [] {
    auto entry = an_entry(1, Role::kLearner, 2);
    entry.cpus = "500m";
    return entry;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"it asks for less than is reserved",
       {an_entry(1, Role::kLearner, 2)},
       {"learner: 0 slots, 1 reserved", "request-1-learner: 2 slots, 2 of learner"}},
      {"it asks for more",
       {an_entry(1, Role::kLearner, 5)},
       {"learner: 0 slots", "request-1-learner: 5 slots, 3 of learner"}},
      {"two ask one after the other",
       {an_entry(1, Role::kLearner, 2), an_entry(2, Role::kLearner, 2, 4200)},
       {"learner: 0 slots", "request-1-learner: 2 slots, 2 of learner",
        "request-2-learner: 2 slots, 1 of learner"}},
      {"it is of another role",
       {an_entry(1, Role::kCollector, 2)},
       {"learner: 0 slots, 3 reserved", "request-1-collector: 2 slots"}},
      {"its pods are larger than the template's",
       {larger()},
       {"learner: 0 slots, 3 reserved", "request-1-learner: 2 slots"}},
      {"its pods are smaller",
       {smaller()},
       {"learner: 0 slots, 1 reserved", "request-1-learner: 2 slots, 2 of learner"}},
  }));
  INFO("when " << row.when);
  World world = running(reserving(3));
  for (const auto& entry : row.asked) ask(world, entry);
  CHECK(describe_group_sets(world) == row.want);
  CHECK(world.settle() == 0);
}

TEST_CASE("the pods of multi-GPU learners take over capacity for learners",
          "[controller][reserved_capacity]") {
  job::Job job = a_job(0, 0);
  job.spec.learner->pod_template = testing::with_gpus(testing::a_template(), "8");
  job.spec.learner->reserved_replicas = 3;
  World world(std::move(job));
  world.add_aggregator_config();
  world.start();
  world.commit();
  REQUIRE(describe_group_sets(world) ==
          Lines{"aggregator: 1 slot, 3 reserved", "learner: 0 slots, 3 reserved"});
  SECTION("of one pod each") {
    ask(world, multi_gpu_entry(1, {4096, 4098}, {8}));
    CHECK(describe_group_sets(world) == Lines{"aggregator: 1 slot, 1 reserved",
                                              "learner: 0 slots, 1 reserved",
                                              "request-1-aggregator: 2 slots, 2 of aggregator",
                                              "request-1-ddp-learner-0: 2 slots, 2 of learner"});
  }
  SECTION("of two pods each") {
    ask(world, multi_gpu_entry(1, {4096, 4099}, {8, 2}));
    CHECK(describe_group_sets(world) == Lines{"learner: 0 slots",
                                              "request-1-aggregator: 2 slots, 2 of aggregator",
                                              "request-1-ddp-learner-0: 2 slots, 2 of learner",
                                              "request-1-ddp-learner-1: 2 slots, 1 of learner"});
  }
  SECTION("not if they are larger") {
    ask(world, multi_gpu_entry(1, {4096}, {16}));
    CHECK(describe_group_sets(world) == Lines{"aggregator: 1 slot, 2 reserved",
                                              "learner: 0 slots, 3 reserved",
                                              "request-1-aggregator: 1 slot, 1 of aggregator",
                                              "request-1-ddp-learner-0: 1 slot"});
  }
  SECTION("an aggregator is reserved for as long as a learner is") {
    ask(world, an_entry(1, Role::kLearner, 2));
    CHECK(describe_group_sets(world) == Lines{"aggregator: 1 slot, 1 reserved",
                                              "learner: 0 slots, 1 reserved",
                                              "request-1-learner: 2 slots, 2 of learner"});
  }
  CHECK(world.settle() == 0);
}

TEST_CASE("aggregators are reserved for a job without one of its own",
          "[controller][reserved_capacity]") {
  job::Job job = a_job(0, 0);
  job.spec.aggregator = "OnDemand";
  job.spec.learner->pod_template = testing::with_gpus(testing::a_template(), "8");
  job.spec.learner->reserved_replicas = 2;
  World world(std::move(job));
  world.add_aggregator_config();
  world.start();
  world.commit();
  CHECK(world.settle() == 0);
  CHECK(describe_group_sets(world) ==
        Lines{"learner: 0 slots, 2 reserved", "aggregator: 0 slots, 2 reserved"});
  CHECK(world.pod_names() == Lines{"dqn-coordinator"});
}

TEST_CASE("base replicas that are added take over reserved capacity",
          "[controller][reserved_capacity]") {
  World world = running(reserving(3));
  world.seen.job.spec.learner->replicas = 2;
  world.settle();
  CHECK(describe_group_sets(world) ==
        Lines{"learner: 0 slots, 1 reserved", "base-learner-0: 2 slots, 2 of learner"});
}

TEST_CASE("once the gang is committed the reservation only shrinks",
          "[controller][reserved_capacity]") {
  World world = running(reserving(3));
  SECTION("it does not grow with reservedReplicas") {
    world.seen.job.spec.learner->reserved_replicas = 5;
    world.settle();
    CHECK(describe_group_sets(world) == Lines{"learner: 0 slots, 3 reserved"});
  }
  SECTION("it shrinks with reservedReplicas") {
    world.seen.job.spec.learner->reserved_replicas = 1;
    world.settle();
    CHECK(describe_group_sets(world) == Lines{"learner: 0 slots, 1 reserved"});
  }
  SECTION("capacity that a request took over is not reserved again when it ends") {
    ask(world, an_entry(1, Role::kLearner, 2));
    world.seen.job.spec.requests.entries.clear();
    world.settle();
    CHECK(describe_group_sets(world) == Lines{"learner: 0 slots, 1 reserved"});
  }
}

TEST_CASE("unused reserved capacity is released reservationSeconds after the coordinator starts",
          "[controller][reserved_capacity]") {
  job::Job job = reserving(3);
  job.spec.reservation_seconds = 60;
  World world = running(std::move(job));
  ask(world, an_entry(1, Role::kLearner, 1));
  CHECK(reconcile(world.seen).requeue_after == 60s);
  world.seen.now += 59s;
  CHECK(world.settle() == 0);
  CHECK(describe_group_sets(world) ==
        Lines{"learner: 0 slots, 2 reserved", "request-1-learner: 1 slot, 1 of learner"});
  world.seen.now += 1s;
  CHECK(world.settle() >= 1);
  CHECK(describe_group_sets(world) == Lines{"learner: 0 slots", "request-1-learner: 1 slot"});
  CHECK(reconcile(world.seen).requeue_after == std::nullopt);
  ask(world, an_entry(2, Role::kLearner, 1, 4200));
  CHECK(describe_group_sets(world) ==
        Lines{"learner: 0 slots", "request-1-learner: 1 slot", "request-2-learner: 1 slot"});
}

TEST_CASE("capacity stays reserved while the job waits or starts",
          "[controller][reserved_capacity]") {
  World world(reserving(3));
  world.settle();
  world.seen.now += 3600s;
  world.settle();
  world.plan();
  world.settle();
  world.seen.now += 3600s;
  world.settle();
  CHECK(describe_group_sets(world) == Lines{"learner: 0 slots, 3 reserved"});
}

TEST_CASE("each attempt reserves capacity again", "[controller][reserved_capacity]") {
  job::Job job = reserving(3);
  job.spec.reservation_seconds = 60;
  job.spec.backoff_limit = 3;
  World world = running(std::move(job));
  world.seen.now += 100s;
  world.settle();
  REQUIRE(describe_group_sets(world) == Lines{"learner: 0 slots"});
  world.end("dqn-coordinator", false);
  world.settle();
  world.seen.now += 60s;
  world.start();
  REQUIRE(world.seen.job.status.attempt == 2);
  CHECK(describe_group_sets(world) == Lines{"learner: 0 slots, 3 reserved"});
  CHECK(job::reserved_until(world.seen.job) ==
        std::chrono::floor<std::chrono::seconds>(world.seen.now) + 60s);
}

// For any requests in any order, no place is taken over twice, and a repetition changes nothing.
TEST_CASE("requests never take over more than was reserved",
          "[controller][reserved_capacity][property]") {
  for (unsigned round = 0; round < 200; ++round) {
    const auto seed = Catch::getSeed() + round;
    INFO("seed " << seed);
    std::mt19937 rng(seed);
    const auto below = [&rng](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    job::Spec spec = reserving(below(6), below(3)).spec;
    bool is_committed = false;
    std::vector<gang::Gang> gangs =
        testing::make_gangs({testing::a_set("learner", spec.learner->replicas, testing::ask(1))});
    const auto sets = [&gangs] { return gang::all_sets(gangs); };
    int most = std::max(0, spec.learner->reserved_replicas - spec.learner->replicas);
    for (int step = 0; step < 6; ++step) {
      const std::size_t first_new = gangs.size();
      is_committed = is_committed || below(3) == 0;
      for (int i = below(3); i > 0; --i) {
        const auto set = testing::a_set("learner", below(4), testing::ask(1 + below(2)));
        gangs.push_back(demand::request_gang(static_cast<std::int64_t>(gangs.size())));
        gangs.back().members = {
            testing::in_request(set, static_cast<std::int64_t>(gangs.size()) - 1)};
      }
      if (below(3) == 0 && gangs.size() > 1) {  // a request is taken back in part
        const auto which = 1 + static_cast<std::size_t>(below(static_cast<int>(gangs.size()) - 1));
        auto& slots = gangs[which].members[0].slots;
        if (!slots.empty()) slots.pop_back();
      }
      std::vector<gang::MemberSet*> added;
      for (std::size_t i = first_new; i < gangs.size(); ++i) added.push_back(&gangs[i].members[0]);
      demand::reserve_capacity(gangs, added, {spec, is_committed, false});
      int sum = gangs[0].members[0].reserved_pods;
      for (const auto& set : sets()) {
        sum += set.from_reserved.count;
        CHECK(set.from_reserved.count <= static_cast<int>(set.slots.size()));
      }
      CHECK(sum <= most);
      if (is_committed) most = sum;  // only shrinks
      const auto again = gangs;
      demand::reserve_capacity(gangs, {}, {spec, is_committed, false});
      CHECK(gangs == again);
    }
    demand::reserve_capacity(gangs, {}, {spec, is_committed, true});
    for (const auto& set : sets()) CHECK(set.reserved_pods + set.from_reserved.count == 0);
  }
}

TEST_CASE("no job reserves capacity for longer than the administrator allows",
          "[controller][reserved]") {
  using namespace std::chrono_literals;
  job::Job job = testing::a_job(0, 0);
  job.spec.collector->reserved_replicas = 2;
  job.spec.reservation_seconds = std::numeric_limits<int>::max();
  World world(std::move(job));
  world.seen.max_reservation_seconds = 60;
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.settle();
  CHECK(world.seen.job.status.max_reservation_seconds == 60);
  world.plan();
  world.settle();
  world.commit();
  world.run_all();
  world.settle();
  CHECK(job::reserved_until(world.seen.job) == world.seen.now + 60s);
  CHECK(reconcile(world.seen).requeue_after == 60s);
  const auto reserved = [&] {
    const auto sets = gang::all_sets(world.seen.pod_groups.front()->spec.gangs);
    return std::count_if(sets.begin(), sets.end(),
                         [](const gang::MemberSet& set) { return set.reserved_pods == 2; });
  };
  CHECK(reserved() == 1);
  world.seen.now += 60s;
  world.settle();
  CHECK(reserved() == 0);

  world.seen.max_reservation_seconds =
      std::numeric_limits<int>::max();  // started with another flag
  world.settle();
  CHECK_FALSE(world.seen.job.status.max_reservation_seconds);
}

}  // namespace
}  // namespace nervex::controller
