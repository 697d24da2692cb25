#include "controller/decide/objects/cleanup.h"
#include "controller/decide/make_round.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "gang/slot.h"
#include "tests/controller/world.h"
#include "tests/queue/builders.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::CleanPodPolicy;
using job::Role;
using testing::a_job;
using testing::World;
using Strings = std::vector<std::string>;

TEST_CASE("an ended job keeps the pods that its policy says", "[controller][cleanup]") {
  struct Row {
    std::string when;
    CleanPodPolicy policy;
    std::size_t want_pods;
    int want_rounds;  // status, deletions, finalizers of what was deleted
  };
  const auto row = GENERATE(values<Row>({{"Running", CleanPodPolicy::kRunning, 2, 3},
                                         {"All", CleanPodPolicy::kAll, 0, 3},
                                         {"None", CleanPodPolicy::kNone, 5, 2}}));
  INFO("when " << row.when);
  World world(a_job(3, 1));
  world.seen.job.spec.clean_pod_policy = row.policy;
  world.make_gang();
  world.run("dqn-coordinator");
  world.run(world.name(Role::kCollector, 0));                        // goes
  world.end(world.name(Role::kCollector, 1), false);                 // stays; 2 is Pending and goes
  world.change_pod(world.name(Role::kLearner), [](kube::Pod& pod) {  // crash-loops, goes
    pod.phase = kube::PodPhase::kRunning;
    kube::ContainerState main;
    main.name = "nervex-container";
    main.reason = "CrashLoopBackOff";
    main.restarts = 7;
    pod.containers = {main};
  });
  world.settle();
  world.end("dqn-coordinator", true);
  CHECK(world.settle() == row.want_rounds);
  CHECK(world.pod_names().size() == row.want_pods);
  CHECK(world.service_names().empty());
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.deleted.front() == "podgroup dqn-1");
}

// Kubernetes ends ordinary sidecars only with their pod.
TEST_CASE("a pod whose sidecar runs on does not keep its capacity after the job",
          "[controller][cleanup]") {
  struct Row {
    std::string when;
    CleanPodPolicy policy;
    bool sidecar_ends;
    std::size_t want_pods;
  };
  const auto row = GENERATE(
      values<Row>({{"Running", CleanPodPolicy::kRunning, false, 0},
                   {"Running, and the sidecar ends soon", CleanPodPolicy::kRunning, true, 1},
                   {"None", CleanPodPolicy::kNone, false, 1}}));
  INFO("when " << row.when);
  World world(a_job());
  world.seen.job.spec.clean_pod_policy = row.policy;
  world.make_gang();
  world.run("dqn-coordinator");
  world.settle();
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) {
    kube::ContainerState main;
    main.name = "nervex-container";
    main.terminated = true;
    pod.containers = {main};
  });
  world.settle();
  REQUIRE(world.seen.job.status.phase == job::Phase::kSucceeded);
  CHECK(world.pod_names().size() == 1);
  if (row.sidecar_ends) world.end("dqn-coordinator", true);
  const auto again = reconcile(world.seen).requeue_after;
  CHECK((row.want_pods == 0) == again.has_value());
  CHECK(again.value_or(std::chrono::seconds(60)) <= std::chrono::seconds(60));
  world.seen.now += std::chrono::seconds(60);
  world.settle();
  CHECK(world.pod_names().size() == row.want_pods);
  CHECK_FALSE(reconcile(world.seen).requeue_after);
}

TEST_CASE("a job that its time limit ended keeps no pod that runs, whatever its policy",
          "[controller][cleanup]") {
  World world(a_job(2, 0));
  world.seen.job.spec.active_deadline_seconds = 30;
  world.make_gang();
  world.run_all();
  world.settle();
  world.end(world.name(Role::kCollector, 0), true);
  world.settle();
  world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
  world.seen.now += std::chrono::hours(1);
  world.settle();
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
  CHECK(world.pod_names() == Strings{world.name(Role::kCollector, 0)});
}

TEST_CASE("a job that its queue's time limit ended keeps no pod that runs, for every policy",
          "[controller][cleanup]") {
  World world(a_job(2, 1));
  world.seen.job.spec.clean_pod_policy =
      GENERATE(CleanPodPolicy::kNone, CleanPodPolicy::kRunning, CleanPodPolicy::kAll);
  const bool is_patched_in = GENERATE(false, true);
  world.make_gang();
  world.run_all();
  world.settle();
  world.change_group([](gang::PodGroup& group) { group.status.queue = {"vision", 0, 30}; });
  if (is_patched_in) world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
  world.seen.now += std::chrono::hours(1);
  world.settle();
  CHECK(world.seen.job.status.phase == job::Phase::kFailed);
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
  CHECK(world.pod_names().empty());
}

TEST_CASE("a limit that passes after the job has ended ends the pods that still run",
          "[controller][cleanup]") {
  World world(a_job(2, 0));
  world.make_gang();
  world.run_all();
  world.settle();
  world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
  world.seen.job.spec.active_deadline_seconds = 3'600;
  world.end("dqn-coordinator", true);
  world.settle();
  REQUIRE(world.seen.job.status.phase == job::Phase::kSucceeded);
  CHECK(world.pod_names().size() == 3);
  const auto again = reconcile(world.seen).requeue_after;
  REQUIRE(again);
  world.seen.now += std::chrono::ceil<std::chrono::seconds>(*again);
  world.settle();
  CHECK(world.pod_names() == Strings{"dqn-coordinator"});
}

TEST_CASE("a job that its schedule limit ended keeps no pod that is not finished",
          "[controller][cleanup]") {
  World world(a_job(1, 0));
  world.make_gang();
  world.run(world.name(Role::kCollector, 0));
  world.settle();
  world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
  world.seen.job.status.phase = job::Phase::kFailed;
  world.seen.job.status.reason = "ScheduleTimeout";
  world.settle();
  CHECK(world.pod_names().empty());
}

// In queue "part" of queue "team".
std::shared_ptr<const queue::QueueTree> a_tree(queue::Queue::Stop stop,
                                               std::optional<std::int64_t> max_runtime_seconds) {
  queue::Queue team = testing::a_queue("team");
  team.stop = stop;
  team.max_runtime_seconds = max_runtime_seconds;
  return std::make_shared<const queue::QueueTree>(
      std::vector{std::make_shared<const queue::Queue>(std::move(team)),
                  std::make_shared<const queue::Queue>(testing::a_queue("part", "team"))});
}

TEST_CASE("a queue ends pods that no job manages any more", "[controller][cleanup][queue]") {
  struct Row {
    std::string when;
    std::shared_ptr<const queue::QueueTree> queues;
    std::string queue;  // of the pods
    bool ends;
    std::optional<std::int64_t> next_seconds;  // after their creation
  };
  using Stop = queue::Queue::Stop;
  const auto row = GENERATE(values<Row>({
      {"the queue has no rule", a_tree(Stop::kNone, {}), "part", false, {}},
      {"it is held", a_tree(Stop::kHold, {}), "part", false, {}},
      {"it is drained", a_tree(Stop::kHoldAndDrain, {}), "part", true, {}},
      {"its limit has passed", a_tree(Stop::kNone, 60), "part", true, {}},
      {"its limit passes later", a_tree(Stop::kNone, 600), "part", false, 600},
      {"another queue is drained", a_tree(Stop::kHoldAndDrain, {}), "other", false, {}},
      {"they name no queue", a_tree(Stop::kHoldAndDrain, {}), "", false, {}},
      {"queues are not known", nullptr, "part", false, {}},
  }));
  INFO("when " << row.when);
  World world(a_job(2, 0));
  world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
  world.make_gang();
  world.run_all();
  world.settle();
  world.end("dqn-coordinator", true);
  world.end(world.name(Role::kCollector, 1), true);
  world.settle();
  REQUIRE(world.seen.job.status.phase == job::Phase::kSucceeded);
  REQUIRE(world.pod_names().size() == 3);
  const SysTime created = world.seen.now - std::chrono::seconds(100);
  for (const std::string& name : world.pod_names()) {
    world.change_pod(name, [&](kube::Pod& pod) {
      pod.meta.created = created;
      pod.meta.annotations[std::string(gang::kQueueAnnotation)] = row.queue;
    });
  }
  const auto next = row.next_seconds
                        ? std::optional(created + std::chrono::seconds(*row.next_seconds))
                        : std::nullopt;
  world.seen.queues = row.queues;
  SECTION("of a job that ended by itself") {
    CHECK(next_clean_up(world.seen) == next);
    world.settle();
    CHECK(world.pod_names().size() == (row.ends ? 2 : 3));  // finished ones stay
  }
  SECTION("of a job that was deleted with --cascade=orphan") {
    for (const std::string& name : world.pod_names()) {
      world.change_pod(name, [](kube::Pod& pod) { pod.meta.owner.reset(); });
    }
    const auto end = orphans_to_end({world.seen.pods, "", world.seen.now, {}}, row.queues.get());
    CHECK(end.due.size() == (row.ends ? 1 : 0));
    CHECK(end.next == next);
  }
}

TEST_CASE("a grace period of years is shortened", "[controller][cleanup]") {
  World world(a_job(1, 0));
  world.make_gang();
  world.run_all();
  world.settle();
  world.seen.max_termination_grace = std::chrono::seconds(600);
  const auto set_grace = [&](std::chrono::seconds grace) {
    world.change_pod(world.name(Role::kCollector), [&](kube::Pod& pod) {
      pod.meta.deleting = true;
      pod.deletion_timestamp = world.seen.now + grace;
      pod.deletion_grace_seconds = static_cast<int>(grace.count());
    });
    return delete_stuck_pods(world.seen);
  };
  const Actions shortened = set_grace(std::chrono::hours(24 * 365));
  REQUIRE(shortened.size() == 1);
  const auto& targets = std::get<DeletePods>(shortened[0]).targets;
  REQUIRE(targets.size() == 1);
  CHECK(targets[0].grace == std::chrono::seconds(600));
  CHECK_FALSE(targets[0].at_once);
  CHECK(set_grace(std::chrono::seconds(600)).empty());
  CHECK(set_grace(std::chrono::seconds(30)).empty());
  set_grace(std::chrono::hours(24 * 365));
  const auto of_orphans = [&](const std::string& uid) {
    return orphans_to_shorten({world.seen.pods, uid, world.seen.now, std::chrono::seconds(600)});
  };
  CHECK(of_orphans(world.seen.job.meta.uid).empty());
  CHECK(of_orphans("").size() == 1);  // the job was deleted
  world.seen.max_termination_grace = {};
  CHECK(set_grace(std::chrono::hours(24 * 365)).empty());
}

// -- a user may delete a pod with a long grace period before its job, a limit or a drain ends it

// A job whose coordinator and collectors run.
World a_running_world(int collectors) {
  World world(a_job(collectors, 0));
  world.make_gang();
  world.run_all();
  world.settle();
  world.seen.max_termination_grace = std::chrono::seconds(3'600);
  return world;
}

// A user deletes the collector with that grace period, of which `left` is left.
void delete_slowly(World& world, std::int64_t granted, std::chrono::seconds left,
                   std::int32_t own = 2) {
  world.change_pod(world.name(Role::kCollector), [&](kube::Pod& pod) {
    pod.meta.deleting = true;
    pod.own_grace_seconds = own;
    pod.deletion_grace_seconds = static_cast<std::int32_t>(granted);
    pod.deletion_timestamp = world.seen.now + left;
  });
}

// The grace period that the collector is last deleted with; nullopt: it is not deleted.
std::optional<std::chrono::seconds> shortened_to(const World& world, const Actions& actions) {
  std::optional<std::chrono::seconds> grace;
  for (const Action& action : actions) {
    const auto* pods = std::get_if<DeletePods>(&action);
    if (pods == nullptr) continue;
    for (const Target& target : pods->targets) {
      if (target.name == world.name(Role::kCollector)) grace = target.grace;
    }
  }
  return grace;
}

TEST_CASE("a pod that is to end, and that ends slowly, ends within its own grace period",
          "[controller][cleanup]") {
  struct Row {
    std::string when;
    std::int64_t granted;
    std::int64_t left;
    std::int32_t own;
    std::optional<std::chrono::seconds> want;
  };
  using std::chrono::seconds;
  const auto row = GENERATE(values<Row>({
      {"its deletion gave it more", 1'800, 1'800, 2, seconds(2)},
      {"that is nearly over", 1'800, 2, 2, {}},
      {"its deletion gave it what it has", 600, 600, 600, {}},
      {"its deletion gave it less", 5, 5, 30, {}},
      {"its own is beyond --max-termination-grace", 7'200, 7'200, 36'000, seconds(3'600)},
      {"its own is none: a kubelet ends it", 1'800, 1'800, 0, seconds(1)},
      {"its deletion gave it so much that its end is no time", kube::kMaxGraceSeconds, 0, 2,
       seconds(2)},
  }));
  INFO("when " << row.when);
  World world = a_running_world(1);
  delete_slowly(world, row.granted, seconds(row.left), row.own);
  CHECK(shortened_to(world, clean_up(world.seen)) == row.want);
}

TEST_CASE("a pod that its user deletes slowly ends with what ends its job",
          "[controller][cleanup]") {
  World world = a_running_world(2);
  delete_slowly(world, 1'800, std::chrono::seconds(1'800));
  const std::chrono::seconds own{2};
  SECTION("not while its job runs") {
    CHECK_FALSE(shortened_to(world, reconcile(world.seen).actions));
  }
  SECTION("not if its job has ended by itself and keeps its pods") {
    world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
    CHECK_FALSE(shortened_to(world, clean_up(world.seen)));
  }
  SECTION("a time limit, with any policy") {
    world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
    world.seen.job.status.reason = "DeadlineExceeded";
    CHECK(shortened_to(world, clean_up(world.seen)) == own);
  }
  SECTION("a drain after its end") {
    world.seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
    world.seen.queues = a_tree(queue::Queue::Stop::kHoldAndDrain, {});
    world.change_pod(world.name(Role::kCollector), [](kube::Pod& pod) {
      pod.meta.annotations[std::string(gang::kQueueAnnotation)] = "part";
    });
    CHECK(shortened_to(world, clean_up(world.seen)) == own);
  }
  SECTION("the end of its attempt") {
    world.seen.job.status.attempt = 2;
    CHECK(shortened_to(world, delete_stale_objects(make_round(world.seen))) == own);
  }
  SECTION("the deletion of its job") {
    world.seen.job.meta.deleting = true;
    CHECK(shortened_to(world, reconcile(world.seen).actions) == own);
  }
  SECTION("--max-termination-grace 0s: no limit") {
    world.seen.max_termination_grace = {};
    CHECK_FALSE(shortened_to(world, clean_up(world.seen)));
  }
}

TEST_CASE("a pod without a job that its user deletes slowly ends when its queue ends it",
          "[controller][cleanup][queue]") {
  World world = a_running_world(1);
  const std::string name = world.name(Role::kCollector);
  const bool has_lost_its_owner = GENERATE(true, false);  // else the garbage collector is late
  world.change_pod(name, [&](kube::Pod& pod) {
    if (has_lost_its_owner) pod.meta.owner.reset();
    pod.meta.created = world.seen.now - std::chrono::seconds(100);
    pod.meta.annotations[std::string(gang::kQueueAnnotation)] = "part";
  });
  delete_slowly(world, 1'800, std::chrono::seconds(1'800));
  const auto ended = [&](const std::shared_ptr<const queue::QueueTree>& queues) {
    const PodsOfKey pods{world.seen.pods, "another job", world.seen.now,
                         std::chrono::seconds(3'600)};
    return orphans_to_end(pods, queues.get());
  };
  const auto drained = ended(a_tree(queue::Queue::Stop::kHoldAndDrain, {}));
  CHECK(shortened_to(world, {DeletePods{drained.due}}) == std::chrono::seconds(2));
  const auto later = ended(a_tree(queue::Queue::Stop::kNone, 600));
  CHECK_FALSE(shortened_to(world, {DeletePods{later.due}}));
  CHECK(later.next == world.seen.now + std::chrono::seconds(500));
}

TEST_CASE("clean-up does not repeat deletions in progress", "[controller][cleanup]") {
  World world(a_job(1, 0));
  world.make_gang();
  world.run_all();
  world.change_pod(world.name(Role::kCollector), [](kube::Pod& pod) { pod.meta.deleting = true; });
  const Actions actions = clean_up(world.seen);
  CHECK(std::get<ReleasePods>(actions.at(1)).targets.size() == 1);  // the one that goes already
  CHECK(std::get<DeletePods>(actions.at(2)).targets.size() == 1);
}

TEST_CASE("an ended job without objects has nothing to clean up", "[controller][cleanup]") {
  CHECK(clean_up(World(a_job()).seen).empty());
}

// -- objects of earlier attempts

World a_running_world_of_one() {
  World world(a_job(1, 0));
  world.start();
  return world;
}

Actions find_stale_objects(const World& world) {
  return delete_stale_objects(make_round(world.seen));
}

TEST_CASE("objects of the current attempt are not stale", "[controller][stale_objects]") {
  CHECK(find_stale_objects(a_running_world_of_one()).empty());
}

TEST_CASE("pods of another PodGroup are deleted, bound or not", "[controller][stale_objects]") {
  World world = a_running_world_of_one();
  world.change_group([](gang::PodGroup& group) { group.meta.uid = "another"; });
  const Actions steps = find_stale_objects(world);
  REQUIRE(steps.size() == 2);
  CHECK(std::get<DeletePods>(steps[0]).targets.size() == 2);
  CHECK(std::get<RecordEvent>(steps[1]).event.message == "deleted 2 pods of an earlier attempt");
}

TEST_CASE("an attempt without a PodGroup keeps nothing; the old PodGroup goes last",
          "[controller][stale_objects]") {
  World world = a_running_world_of_one();
  world.seen.job.status.attempt = 2;
  const Actions steps = find_stale_objects(world);
  REQUIRE(steps.size() == 4);
  CHECK(std::get<DeletePods>(steps[0]).targets.size() == 2);
  CHECK(std::get<DeleteServices>(steps[1]).targets.size() == 2);
  CHECK(std::get<DeletePodGroups>(steps[2]).targets.size() == 1);
}

TEST_CASE("objects that are being deleted are not deleted again", "[controller][stale_objects]") {
  World world = a_running_world_of_one();
  world.seen.job.status.attempt = 2;
  world.seen.services.clear();
  for (const auto& pod : world.pod_names()) {
    world.change_pod(pod, [](kube::Pod& p) { p.meta.deleting = true; });
  }
  world.change_group([](gang::PodGroup& group) { group.meta.deleting = true; });
  CHECK(find_stale_objects(world).empty());
}

}  // namespace
}  // namespace nervex::controller
