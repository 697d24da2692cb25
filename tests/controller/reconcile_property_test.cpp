// What holds of reconcile() in every state that a job can get into.
#include <random>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Phase;
using testing::a_job;
using testing::an_entry;
using testing::World;

// A job and a cluster that things happen to, all following from one number.
class RandomLife {
 public:
  explicit RandomLife(unsigned seed) : rng_(seed), world(a_random_job()) {}

  // One thing that planner, kubelet, users or nervex-server may do.
  void happen() {
    switch (below(14)) {
      case 0:
        return plan(true);
      case 1:
        return plan(below(3) != 0);
      case 2:
        if (!world.seen.pod_groups.empty()) world.replan(below(2) == 0 ? "base" : "request-1");
        return;
      case 3:
        if (!world.seen.pod_groups.empty()) {
          world.change_group([&](gang::PodGroup& group) {
            group.status.observed_generation = static_cast<std::int64_t>(below(3));
          });
        }
        return;
      case 4:
      case 5:
      case 6:
        return with_pod([&](const std::string& pod) { world.run(pod); });
      case 7:
        return with_pod([&](const std::string& pod) { world.end(pod, below(2) == 0); });
      case 8:
        return with_pod([&](const std::string& pod) { world.remove_pod(pod); });
      case 9:
        return with_pod([&](const std::string& pod) {
          world.change_pod(pod, [](kube::Pod& p) { p.meta.deleting = true; });
        });
      case 10:
        if (!world.seen.services.empty()) world.seen.services.pop_back();
        return;
      case 11:
        return request();
      case 12:
        if (below(2) == 0) {
          world.add_aggregator_config();
        } else {
          world.seen.aggregator_config = nullptr;
        }
        return;
      default:
        if (below(4) == 0) world.seen.pod_groups.clear();
        world.seen.now += std::chrono::seconds(below(20));
    }
  }

  // As observe.h does it.
  void look() {
    const auto& status = world.seen.job.status;
    const auto names = world.pod_names();
    const bool is_there = std::find(names.begin(), names.end(), "dqn-coordinator") != names.end();
    world.seen.coordinator_is_gone = status.start_time && !is_final(status.phase) && !is_there;
  }

  unsigned below(unsigned n) { return static_cast<unsigned>(rng_() % n); }

 private:
  job::Job a_random_job() {
    job::Job job = a_job(static_cast<int>(below(4)), static_cast<int>(below(3)));
    job.spec.aggregator = std::vector<std::string>{"", "PerJob", "OnDemand"}[below(3)];
    job.spec.clean_pod_policy =
        std::vector<job::CleanPodPolicy>{job::CleanPodPolicy::kRunning, job::CleanPodPolicy::kAll,
                                         job::CleanPodPolicy::kNone}[below(3)];
    return job;
  }
  void plan(bool fits) {
    if (world.seen.pod_groups.empty()) return;
    if (fits) return world.plan();
    world.refuse("nothing fits");
  }
  void with_pod(const std::function<void(const std::string&)>& act) {
    const auto names = world.pod_names();
    if (!names.empty()) act(names[below(static_cast<unsigned>(names.size()))]);
  }
  void request() {
    auto& requests = world.seen.job.spec.requests;
    const auto role = below(2) == 0 ? job::Role::kCollector : job::Role::kLearner;
    int& next = role == job::Role::kCollector ? requests.next_collector : requests.next_learner;
    requests.entries.push_back(
        an_entry(requests.next_id++, role, 1 + static_cast<int>(below(2)), next));
    next += 2;
    ++world.seen.job.meta.generation;
  }

  std::mt19937 rng_;

 public:
  World world;
};

bool is_true(const job::Status& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && condition->status;
}

void check_conditions(const job::Status& status) {
  const bool ended = is_final(status.phase);
  CHECK(is_true(status, "Finished") == ended);
  CHECK(is_true(status, "Succeeded") == (status.phase == Phase::kSucceeded));
  CHECK(is_true(status, "Failed") == (status.phase == Phase::kFailed));
  CHECK(is_true(status, "Running") == (status.phase == Phase::kRunning));
  CHECK((!is_true(status, "Ready") || status.phase == Phase::kRunning));
  CHECK(status.start_time.has_value() == (status.phase != Phase::kCreated));
  CHECK(status.completion_time.has_value() == ended);
  CHECK_FALSE(status.reason.empty());
  std::set<std::string> types;
  for (const auto& condition : status.conditions) {
    CHECK(types.insert(condition.type).second);
    CHECK_FALSE(condition.reason.empty());
  }
}

void check_decision(const Observed& seen, const Decision& decision) {
  int status_writes = 0;
  int others = 0;
  for (const auto& action : decision.actions) {
    if (const auto* update = std::get_if<UpdateStatus>(&action)) {
      ++status_writes;
      CHECK(update->status != seen.job.status);
      check_conditions(update->status);
      if (is_final(update->status.phase)) others += 1000;
    } else if (!std::holds_alternative<RecordEvent>(action)) {
      ++others;
    }
  }
  CHECK(status_writes <= 1);
  CHECK((others < 1000 || others == 1000));  // a final status is alone
  if (!is_final(seen.job.status.phase)) return;
  CHECK(status_writes == 0);
  for (const auto& action : decision.actions) {
    CHECK_FALSE(std::holds_alternative<CreatePods>(action));
    CHECK_FALSE(std::holds_alternative<CreateServices>(action));
    CHECK_FALSE(std::holds_alternative<CreatePodGroup>(action));
  }
}

void check_targets(const Observed& seen, const Decision& decision) {
  std::set<std::string> uids;
  for (const auto& pod : seen.pods) uids.insert(pod->meta.uid);
  for (const auto& action : decision.actions) {
    if (const auto* deletion = std::get_if<DeletePods>(&action)) {
      for (const auto& target : deletion->targets) CHECK(uids.count(target.uid) == 1);
    }
  }
}

TEST_CASE("reconcile comes to rest, whatever happened", "[controller][reconcile][property]") {
  const auto seed = GENERATE(take(300, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  RandomLife life(seed);
  for (int step = 0; step < 40; ++step) {
    life.happen();
    life.look();
    const Decision decision = reconcile(life.world.seen);
    check_decision(life.world.seen, decision);
    check_targets(life.world.seen, decision);
    if (life.below(3) == 0) {  // the controller may be slow
      life.world.apply(decision.actions);
    } else if (life.below(2) == 0) {
      REQUIRE(life.world.settle() >= 0);
    }
  }
  life.look();
  REQUIRE(life.world.settle() >= 0);
  CHECK(reconcile(life.world.seen).actions.empty());
}

TEST_CASE("a phase never goes back", "[controller][reconcile][property]") {
  const auto seed = GENERATE(take(100, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  RandomLife life(seed);
  life.world.settle();
  for (int step = 0; step < 60; ++step) {
    const Phase before = life.world.seen.job.status.phase;
    life.happen();
    life.look();
    life.world.apply(reconcile(life.world.seen).actions);
    const Phase after = life.world.seen.job.status.phase;
    CHECK(after >= before);
    if (is_final(before)) CHECK(after == before);
  }
}

}  // namespace
}  // namespace nervex::controller
