// The rules for reconcile() in every state that a job can reach.
#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "controller/decide/make_round.h"
#include "controller/decide/round/attempt.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/round/round.h"
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
  explicit RandomLife(unsigned seed) : rng_(seed), world(a_random_job()) {
    world.seen.shared_services = below(2) == 0;
  }

  // One thing that planner, kubelet, users or nervex-server may do.
  void happen() {
    switch (below(22)) {
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
        return with_pod([&](const std::string& pod) { start(pod); });
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
        if (below(2) == 0) world.seen.shared_service = nullptr;
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
      case 13:
        if (below(4) == 0) world.seen.pod_groups.clear();
        return;
      case 14:
        world.seen.job.spec.suspend = below(2) == 0;
        ++world.seen.job.meta.generation;
        return;
      case 15:
        return with_pod([&](const std::string& pod) { disrupt(pod); });
      case 16:
        return with_pod([&](const std::string& pod) {
          world.change_pod(pod, [](kube::Pod& p) {
            kube::ContainerState main;
            main.name = "nervex-container";
            main.restarts = 1;
            p.containers = {main};
          });
        });
      case 17:
        if (below(4) == 0) world.seen.job.spec.requests = {};
        return;
      case 18:
        return change_services();
      case 19:
        return answer_dry_run();
      default:
        world.seen.now += std::chrono::seconds(below(40));
    }
  }

  void look() { world.look(); }
  int commits() const { return commits_; }

  unsigned below(unsigned n) { return static_cast<unsigned>(rng_() % n); }

 private:
  job::Job a_random_job() {
    job::Job job = a_job(static_cast<int>(below(4)), static_cast<int>(below(3)));
    job.spec.aggregator = std::vector<std::string>{"", "PerJob", "OnDemand"}[below(3)];
    job.spec.clean_pod_policy =
        std::vector<job::CleanPodPolicy>{job::CleanPodPolicy::kRunning, job::CleanPodPolicy::kAll,
                                         job::CleanPodPolicy::kNone}[below(3)];
    job.spec.suspend = below(8) == 0;
    if (below(2) == 0) job.spec.backoff_limit = static_cast<int>(below(4));
    if (below(4) == 0) job.spec.active_deadline_seconds = 1 + below(200);
    if (below(4) == 0) job.spec.schedule_timeout_seconds = 1 + below(200);
    if (below(4) == 0) job.spec.ttl_seconds_after_finished = static_cast<int>(below(100));
    return job;
  }
  // The flag with the next controller, or whose the namespace's Service is.
  void change_services() {
    if (below(2) == 0) {
      world.seen.shared_services = !world.seen.shared_services;
      return;
    }
    Service theirs{{}, 1, true};
    theirs.meta.ns = theirs.meta.name = world.seen.job.meta.ns.str();
    world.seen.shared_service =
        below(2) == 0 ? nullptr : std::make_shared<const Service>(std::move(theirs));
  }
  void answer_dry_run() {
    if (below(3) == 0) return world.answer_dry_run({}, below(2) == 0);
    const auto role = below(2) == 0 ? job::Role::kCoordinator : job::Role::kLearner;
    world.answer_dry_run({{role, "no such service account"}}, below(2) == 0);
  }
  void disrupt(const std::string& pod) {
    world.change_pod(pod, [&](kube::Pod& p) {
      p.disruption_target = true;
      p.disruption_reason = "EvictionByEvictionAPI";
      p.meta.deleting = below(2) == 0;
    });
    if (below(2) == 0) world.remove_pod(pod);
  }
  // The extender commits a gang before it binds the first of its pods.
  void start(const std::string& pod) {
    if (!world.seen.pod_groups.empty()) {
      world.commit();
      ++commits_;
    }
    world.run(pod);
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
  // As nervex-server does it: for a coordinator that is there.
  void request() {
    const Attempt attempt = current_attempt(world.seen);
    if (attempt.group == nullptr || find_coordinator(attempt) == nullptr) return;
    auto& requests = world.seen.job.spec.requests;
    const auto role = below(2) == 0 ? job::Role::kCollector : job::Role::kLearner;
    const bool is_collector = role == job::Role::kCollector;
    const auto& status = world.seen.job.status;
    int& next = is_collector ? requests.next_collector : requests.next_learner;
    next = std::max(next, is_collector ? status.next_collector : status.next_learner);
    requests.entries.push_back(an_entry(next_id_++, role, 1 + static_cast<int>(below(2)), next));
    requests.entries.back().attempt = world.seen.job.status.attempt;
    next += 2;
    ++world.seen.job.meta.generation;
  }

  std::mt19937 rng_;
  std::int64_t next_id_ = 1;
  int commits_ = 0;

 public:
  World world;
};

bool is_true(const job::Status& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && condition->status;
}

void check_times(const job::Status& status) {
  const bool ended = is_final(status.phase);
  CHECK(status.completion_time.has_value() == ended);
  if (status.phase == Phase::kRunning || status.phase == Phase::kSucceeded) {
    CHECK(status.start_time.has_value());
  }
  CHECK(status.queued_since.has_value());
  CHECK(status.waiting_since.has_value());
}

void check_conditions(const job::Status& status) {
  const bool ended = is_final(status.phase);
  CHECK(is_true(status, "Created"));
  CHECK(is_true(status, "Finished") == ended);
  CHECK(is_true(status, "Succeeded") == (status.phase == Phase::kSucceeded));
  CHECK(is_true(status, "Failed") == (status.phase == Phase::kFailed));
  CHECK(is_true(status, "Running") == (status.phase == Phase::kRunning));
  CHECK((!is_true(status, "Ready") || status.phase == Phase::kRunning ||
         status.phase == Phase::kSucceeded));
  CHECK(is_true(status, "Stalled") == (status.phase == Phase::kFailed));
  CHECK((!is_true(status, "Requeued") || status.phase == Phase::kCreated));
  CHECK((!is_true(status, "Suspended") || status.phase == Phase::kCreated));
  CHECK((!is_true(status, "Suspended") || !status.start_time));
  CHECK((!is_true(status, "Suspended") || !is_true(status, "Scheduled")));
  CHECK_FALSE(status.reason.empty());
  CHECK(status.attempt > status.failed_attempts - (ended ? 1 : 0));
  std::set<std::string> types;
  for (const auto& condition : status.conditions) {
    CHECK(types.insert(condition.type).second);
    CHECK_FALSE(condition.reason.empty());
  }
}

bool is_creation(const Action& action) {
  return std::holds_alternative<CreatePods>(action) ||
         std::holds_alternative<CreateServices>(action) ||
         std::holds_alternative<CreateSharedService>(action) ||
         std::holds_alternative<CreatePodGroup>(action);
}

void check_status_write(const job::Status& before, const job::Status& after, std::size_t actions,
                        std::size_t events) {
  CHECK(after != before);
  check_conditions(after);
  check_times(after);
  CHECK(after.attempt >= before.attempt);
  CHECK(after.attempt <= before.attempt + 1);
  CHECK(after.next_collector >= before.next_collector);
  if (before.phase == Phase::kNone) return;
  const bool ends_attempt = is_final(after.phase) || after.attempt != before.attempt;
  if (ends_attempt) CHECK(actions == events + 1);  // acknowledged before all that follows
  if (after.phase < before.phase) CHECK(after.attempt == before.attempt + 1);
  if (after.attempt != before.attempt) {
    CHECK(after.ended.empty());
    CHECK(after.replaced.empty());
  }
}

// Nothing of the next attempt while anything of another one is left to delete.
void check_stale_objects_go_first(const Observed& seen, const Actions& actions) {
  std::set<std::string> left;
  for (const auto& pod : seen.pods) {
    if (!pod->meta.deleting) left.insert(pod->meta.uid);
  }
  for (const auto& group : seen.pod_groups) {
    if (!group->meta.deleting) left.insert(group->meta.uid);
  }
  for (const auto& action : actions) {
    if (const auto* pods = std::get_if<DeletePods>(&action)) {
      for (const auto& target : pods->targets) left.erase(target.uid);
    } else if (const auto* groups = std::get_if<DeletePodGroups>(&action)) {
      for (const auto& target : groups->targets) left.erase(target.uid);
    } else if (std::holds_alternative<CreatePodGroup>(action)) {
      CHECK(left.empty());
    }
  }
}

job::Status without_generation(job::Status status) {
  status.observed_generation = 0;
  return status;
}

void check_decision(const Observed& seen, const Decision& decision) {
  const job::Status& before = seen.job.status;
  const Actions& actions = decision.actions;
  const auto count = [&](auto is) {
    return static_cast<std::size_t>(std::count_if(actions.begin(), actions.end(), is));
  };
  const std::size_t events =
      count([](const auto& a) { return std::holds_alternative<RecordEvent>(a); });
  const std::size_t creations = count(is_creation);
  std::size_t status_writes = 0;
  for (const auto& action : actions) {
    const auto* update = std::get_if<UpdateStatus>(&action);
    if (update == nullptr) continue;
    ++status_writes;
    if (is_final(before.phase)) {  // only the observed generation may change
      CHECK(update->status.observed_generation == seen.job.meta.generation);
      CHECK(before.observed_generation != seen.job.meta.generation);
      CHECK(without_generation(update->status) == without_generation(before));
      continue;
    }
    check_status_write(before, update->status, actions.size(), events);
  }
  CHECK(status_writes <= 1);
  if (seen.job.spec.suspend) CHECK(creations == 0);
  if (is_final(before.phase)) CHECK(creations == 0);
  if (!is_final(before.phase)) check_stale_objects_go_first(seen, actions);
}

// A pod is created only with a Service that names it. Other owners' Services are never changed.
void check_names(const Observed& seen, const Actions& actions) {
  std::set<std::string> named;
  for (const auto& service : seen.services) named.insert(service->meta.name);
  bool is_shared = seen.shared_service != nullptr && is_shared_service(*seen.shared_service);
  for (const auto& action : actions) {
    if (const auto* services = std::get_if<CreateServices>(&action)) {
      for (const auto& manifest : services->manifests) named.insert(manifest["metadata"]["name"]);
    } else if (std::holds_alternative<CreateSharedService>(action)) {
      CHECK((seen.shared_service == nullptr || is_shared_service(*seen.shared_service)));
      is_shared = true;
    } else if (const auto* pods = std::get_if<CreatePods>(&action)) {
      for (const auto& manifest : pods->manifests) {
        const bool is_named = manifest["spec"].contains("subdomain")
                                  ? is_shared
                                  : named.count(manifest["metadata"]["name"]) == 1;
        CHECK(is_named);
      }
    } else if (const auto* deletion = std::get_if<DeleteServices>(&action)) {
      for (const auto& target : deletion->targets) {
        CHECK((seen.shared_service == nullptr || target.name != seen.shared_service->meta.name ||
               is_shared_service(*seen.shared_service)));
      }
    }
  }
}

// At rest every pod that continues has a name, except one that is kept though its request was lost:
// its Service is no longer known.
void check_names_at_rest(const Observed& seen) {
  if (is_final(seen.job.status.phase) || seen.job.meta.deleting) return;
  const Attempt attempt = current_attempt(seen);
  const bool is_shared = seen.shared_service != nullptr && is_shared_service(*seen.shared_service);
  const Round round = make_round(seen);
  for (const auto& member : attempt.pods) {
    if (member.pod->meta.deleting || round.slots.find(member.role, member.slot) == nullptr)
      continue;
    const bool has_own = std::any_of(
        seen.services.begin(), seen.services.end(),
        [&](const auto& service) { return service->meta.name == member.pod->meta.name; });
    const bool lacks_template =
        member.role == job::Role::kAggregator && seen.aggregator_config == nullptr;
    CHECK((has_own || lacks_template || (member.pod->is_named_by_namespace && is_shared)));
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

TEST_CASE("reconcile settles after any sequence of events", "[controller][reconcile][property]") {
  const auto seed = GENERATE(take(300, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  static int commits = 0;  // over the seeds: one after the other
  static int seeds = 0;
  RandomLife life(seed);
  for (int step = 0; step < 40; ++step) {
    life.happen();
    life.look();
    const Decision decision = reconcile(life.world.seen);
    check_decision(life.world.seen, decision);
    check_targets(life.world.seen, decision);
    check_names(life.world.seen, decision.actions);
    if (life.below(3) == 0) {  // the controller may be slow
      life.world.apply(decision.actions);
    } else if (life.below(2) == 0) {
      REQUIRE(life.world.settle() >= 0);
    }
  }
  life.look();
  REQUIRE(life.world.settle() >= 0);
  CHECK((life.world.job_is_deleted || reconcile(life.world.seen).actions.empty()));
  check_names_at_rest(life.world.seen);
  commits += life.commits();
  if (++seeds == 300) CHECK(commits > 0);
}

TEST_CASE("a phase goes back only with a new attempt, and a final one is never left",
          "[controller][reconcile][property]") {
  const auto seed = GENERATE(take(200, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  RandomLife life(seed);
  life.world.settle();
  for (int step = 0; step < 60; ++step) {
    const job::Status before = life.world.seen.job.status;
    life.happen();
    life.look();
    life.world.apply(reconcile(life.world.seen).actions);
    const job::Status& after = life.world.seen.job.status;
    if (after.attempt == before.attempt) CHECK(after.phase >= before.phase);
    if (is_final(before.phase)) CHECK(without_generation(after) == without_generation(before));
  }
}

TEST_CASE("a job that is suspended in the end has nothing, and is started by one resume",
          "[controller][reconcile][property]") {
  const auto seed = GENERATE(take(100, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  RandomLife life(seed);
  World& world = life.world;
  for (int step = 0; step < 30; ++step) {
    life.happen();
    if (life.below(3) == 0) world.settle();
  }
  world.seen.job.spec.suspend = true;
  REQUIRE(world.settle() >= 0);
  if (is_final(world.seen.job.status.phase)) return;
  std::erase_if(world.seen.pods, [](const auto& pod) { return pod->meta.deleting; });
  CHECK(world.pod_names().empty());
  CHECK(world.service_names().empty());
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.seen.job.status.reason == "Suspended");

  world.seen.job.spec.suspend = false;
  world.add_aggregator_config();
  REQUIRE(world.settle() >= 0);
  CHECK(world.seen.pod_groups.size() == 1);
}

}  // namespace
}  // namespace nervex::controller
