#include "server/replicas.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <functional>
#include <mutex>
#include <thread>

#include "server/decide/replace.h"
#include "tests/server/world.h"

namespace nervex::server {
namespace {

using testing::Applied;

AddRequest ask(int collectors, int learners, const std::string& coordinator = "dqn-coordinator") {
  AddRequest request{"rl", coordinator, {}, {}};
  request.collectors.replicas = collectors;
  request.learners.replicas = learners;
  return request;
}

Code failure_code(const Result<Listing>& result) {
  REQUIRE_FALSE(result);
  return result.error().code;
}

Listing list_one_job(const World& world, const std::string& coordinator = "dqn-coordinator") {
  const auto listed = world.replicas.list({"rl", coordinator, {}, {}});
  REQUIRE(listed);
  return std::get<Listing>(*listed);
}

}  // namespace

TEST_CASE("adding replicas is one conditional write of spec.requests", "[server][replicas]") {
  World world;
  const Json before = world.job_now();
  const auto added = world.replicas.add(ask(2, 3));
  REQUIRE(added);
  CHECK(added->collectors.size() == 2);
  CHECK(added->learners.size() == 3);

  REQUIRE(world.api.writes().size() == 1);
  const auto write = world.api.writes().front();
  CHECK(write.method == "PATCH");
  for (const std::size_t at : {0UL, 1UL}) {
    const std::string name = at == 0 ? "uid" : "resourceVersion";
    CHECK(write.body[at] ==
          Json{{"op", "test"}, {"path", "/metadata/" + name}, {"value", before["metadata"][name]}});
  }
  CHECK(world.requests_now()["entries"].size() == 2);
}

TEST_CASE("the next request builds on the last one before the watch reports it",
          "[server][replicas]") {
  World world;
  REQUIRE(world.replicas.add(ask(1, 0)));
  REQUIRE(world.replicas.add(ask(1, 0)));
  CHECK(world.api.writes().size() == 2);  // no conflict: the first write was folded into the cache
  CHECK(world.requests_now()["next"]["collector"] == 4098);
}

TEST_CASE("an empty request writes nothing", "[server][replicas]") {
  World world;
  const auto added = world.replicas.add(ask(0, 0));
  REQUIRE(added);
  CHECK(*added == Listing{"rl", "dqn-coordinator", {}, {}});
  CHECK(world.api.writes().empty());
}

TEST_CASE("a job that changed since it was cached is read again", "[server][replicas]") {
  World world;
  world.change_job({{"spec", {{"requests", {{"next", {{"collector", 4500}}}}}}}});
  REQUIRE(world.replicas.add(ask(1, 0)));
  CHECK(world.api.writes().size() == 2);  // a conflict, then the write
  CHECK(world.api.requests() == 3);  // and one read between them: each invites the next conflict
  CHECK(world.requests_now()["next"]["collector"] == 4501);
}

TEST_CASE("an attempt that ends during the request is detected", "[server][replicas]") {
  World world;
  world.change_job({{"status", {{"attempt", 2}}}});
  const auto added = world.replicas.add(ask(1, 0));
  CHECK(failure_code(added) == Code::kTransient);
  CHECK(world.requests_now().is_null());
}

TEST_CASE("a coordinator that the cache does not know is looked up", "[server][replicas]") {
  World world;
  for (const auto& key : world.stores.pods.keys()) world.stores.pods.erase(key);
  CHECK(world.replicas.add(ask(1, 0)));
}

TEST_CASE("no request is refused because of a stale cache", "[server][replicas]") {
  World world;
  world.change_job({{"status", {{"phase", "Failed"}}}});
  world.sync();
  world.change_job({{"status", {{"phase", "Running"}}}});
  CHECK(world.replicas.add(ask(1, 0)));
}

TEST_CASE("each failure is one that the client can act on", "[server][replicas]") {
  const auto patch_fails = [](Code code, int times = 1) {
    return [code, times](World& w) {
      w.api.fail_next("PATCH", "/nervexjobs/", {code, "as told"}, Applied::kNo, times);
    };
  };
  struct Row {
    std::string when;
    std::function<void(World&)> change;
    Code want;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"the coordinator does not exist",
       [](World& w) {
         w.api.remove(kube::kPods, "rl", "dqn-coordinator");
         w.sync();
       },
       Code::kNotFound},
      {"the job has finished",
       [](World& w) {
         w.change_job({{"status", {{"phase", "Succeeded"}}}});
         w.sync();
       },
       Code::kConflict},
      {"the job was deleted under us",
       [](World& w) { w.api.remove(kube::kNervexJobs, "rl", "dqn"); }, Code::kConflict},
      {"the attempt is not the status's",
       [](World& w) {
         w.change_job({{"status", {{"attempt", 2}}}});
         w.sync();
       },
       Code::kTransient},
      {"the API server is away when looking up",
       [](World& w) {
         w.stores.pods.erase("rl/dqn-coordinator");
         w.api.fail_next("GET", "/pods/", {Code::kTransient, "connection refused"});
       },
       Code::kTransient},
      {"looking up is forbidden to us",
       [](World& w) {
         w.stores.pods.erase("rl/dqn-coordinator");
         w.api.fail_next("GET", "/pods/", {Code::kForbidden, "forbidden"});
       },
       Code::kTransient},
      {"the API server is away when writing", patch_fails(Code::kTransient), Code::kTransient},
      {"writing is forbidden to us", patch_fails(Code::kForbidden), Code::kTransient},
      {"the object is refused", patch_fails(Code::kInvalid), Code::kConflict},
      {"every write meets a conflict", patch_fails(Code::kConflict, 100), Code::kTransient},
  }));
  INFO("when " << row.when);
  World world;
  row.change(world);
  CHECK(failure_code(world.replicas.add(ask(1, 1))) == row.want);
  for (const auto& write : world.api.writes()) CHECK_FALSE(write.applied);
}

TEST_CASE("a write whose reply was lost is looked for, not repeated", "[server][replicas]") {
  World world;
  world.api.fail_next("PATCH", "/nervexjobs/", {Code::kTransient, "timeout"}, Applied::kYes);
  const auto added = world.replicas.add(ask(1, 0));
  REQUIRE(added);
  CHECK(added->collectors.size() == 1);
  CHECK(world.api.writes().size() == 1);
}

TEST_CASE("a lost reply is found again after requests of others", "[server][replicas]") {
  World world;
  REQUIRE(world.replicas.add(ask(1, 0)));
  world.sync();
  const auto before = *world.stores.jobs.all().front();
  world.api.fail_next("PATCH", "/nervexjobs/", {Code::kTransient, "timeout"}, Applied::kYes);
  REQUIRE(world.replicas.add(ask(2, 0)));
  CHECK(world.api.writes().size() == 2);
  CHECK(before.spec.requests.entries.size() == 1);
}

TEST_CASE("concurrent requests for one job run one at a time", "[server][replicas]") {
  World world;
  constexpr int kCallers = 16;
  std::vector<Code> failures;
  std::mutex mutex;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        const auto added = world.replicas.add(ask(1, 0));
        const std::lock_guard lock(mutex);
        if (!added) failures.push_back(added.error().code);
      });
    }
  }
  CHECK(failures.empty());
  CHECK(world.api.writes().size() == kCallers);  // no caller got a conflict
}

TEST_CASE("names that would climb in the API's paths exist nowhere", "[server][replicas]") {
  World world;
  const int before = world.api.requests();
  CHECK(failure_code(world.replicas.add(ask(1, 0, ".."))) == Code::kNotFound);
  CHECK(world.api.requests() == before);
}

TEST_CASE("a listing shows what was added as soon as its pods exist", "[server][replicas]") {
  World world;
  const auto added = world.replicas.add(ask(1, 1));
  REQUIRE(added);
  CHECK(list_one_job(world) == Listing{"rl", "dqn-coordinator", {}, {}});

  world.add_pod(job::Role::kCollector, {4096, 0});
  world.add_pod(job::Role::kLearner, {4096, 0});
  world.sync();
  CHECK(list_one_job(world) == *added);
}

TEST_CASE("what was removed or replaced is not listed again, though its pod still runs",
          "[server][replicas]") {
  World world;
  const auto added = world.replicas.add(ask(3, 0));
  REQUIRE(added);
  for (int ordinal = 4096; ordinal < 4099; ++ordinal) {
    world.add_pod(job::Role::kCollector, {ordinal, 0});
  }
  world.sync();
  REQUIRE(world.replicas.remove({"rl", "dqn-coordinator", 1, 0}));
  REQUIRE(world.replicas.replace({"rl", "dqn-coordinator", {added->collectors[0]}, {}}));
  CHECK(list_one_job(world).collectors == std::vector{added->collectors[1]});

  const std::string gone(pod_in(added->collectors[2]));
  CHECK_FALSE(world.replicas.list({"rl", {}, {}, gone}));
}

TEST_CASE("a coordinator's listing comes from the cache, but a 404 does not",
          "[server][replicas]") {
  World world;
  const int before = world.api.requests();
  list_one_job(world);
  CHECK(world.api.requests() == before);

  world.stores.pods.erase("rl/dqn-coordinator");
  list_one_job(world);
  CHECK(world.api.requests() > before);

  const auto unknown = world.replicas.list({"rl", "other-coordinator", {}, {}});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::kNotFound);
}

TEST_CASE("all jobs, or those of one namespace, are listed as an array", "[server][replicas]") {
  World world;
  const std::vector<Listing> one = {{"rl", "dqn-coordinator", {}, {}}};
  using Listed = Replicas::Listed;
  CHECK(*world.replicas.list({}) == Listed(one));
  CHECK(*world.replicas.list({"rl", {}, {}, {}}) == Listed(one));
  CHECK(*world.replicas.list({"elsewhere", {}, {}, {}}) == Listed(std::vector<Listing>{}));
}

TEST_CASE("one replica is found by its name", "[server][replicas]") {
  World world;
  const std::string name = world.add_pod(job::Role::kLearner, {4096, 0});
  world.sync();
  const Listing want{"rl", "dqn-coordinator", {}, {name + ".rl:22271"}};
  CHECK(*world.replicas.list({{}, {}, {}, name}) == Replicas::Listed(want));
  CHECK(*world.replicas.list({"rl", {}, {}, name}) == Replicas::Listed(want));

  for (const char* other : {"dqn-coordinator", "nobody"}) {
    INFO(other);
    const auto listed = world.replicas.list({{}, {}, {}, other});
    REQUIRE_FALSE(listed);
    CHECK(listed.error().code == Code::kNotFound);
  }
}

TEST_CASE("a multi-GPU learner is added, listed, and listed with its GPUs", "[server][replicas]") {
  World world;
  world.surround_with(8, 80);
  const auto added = world.replicas.add({"rl", "dqn-coordinator", {}, {1, "", "10", ""}});
  REQUIRE(added);
  CHECK(world.requests_now()["entries"][0]["gpuSplit"] == Json::array({8, 2}));

  const std::string aggregator = world.add_pod(job::Role::kAggregator, {4096, 0});
  const std::string first = world.add_pod(job::Role::kDdpLearner, {4096, 0});
  const std::string second = world.add_pod(job::Role::kDdpLearner, {4097, 0});
  world.sync();
  CHECK(added->learners == std::vector<std::string>{aggregator + ".rl:80"});
  CHECK(list_one_job(world) == *added);
  const auto of_aggregator = world.replicas.list({"rl", {}, aggregator, {}});
  REQUIRE(of_aggregator);
  const auto& gpus = std::get<Listing>(*of_aggregator).learners;
  REQUIRE(gpus.size() == 10);
  CHECK(gpus.front() == first + ".rl:22271");
  CHECK(gpus.back() == second + ".rl:22280");
}

TEST_CASE("a request that needs an AggregatorConfig can be retried", "[server][replicas]") {
  World world;
  const auto waits = world.replicas.add({"rl", "dqn-coordinator", {}, {1, "", "2", ""}});
  REQUIRE_FALSE(waits);
  CHECK(waits.error().code == Code::kTransient);
  CHECK(world.requests_now().is_null());
}

TEST_CASE("a job's own aggregator has no learners of its own", "[server][replicas]") {
  World world;
  world.add_pod(job::Role::kAggregator, {});
  world.add_pod(job::Role::kLearner, {4096, 0});
  world.sync();
  CHECK(*world.replicas.list({"rl", {}, "dqn-aggregator", {}}) ==
        Replicas::Listed(Listing{"rl", "dqn-coordinator", {}, {}}));
  CHECK_FALSE(world.replicas.list({"rl", {}, "dqn-coordinator", {}}));
}

}  // namespace nervex::server
