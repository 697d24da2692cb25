#include "server/decide/grow.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>
#include <random>
#include <set>

#include "tests/server/builders.h"
#include "tests/support/gang_builders.h"

namespace nervex::server {
namespace {

using job::Role;
using testing::an_entry;

AddRequest ask(int collectors, int learners) {
  AddRequest request{"rl", "dqn-coordinator", {}, {}};
  request.collectors.replicas = collectors;
  request.learners.replicas = learners;
  return request;
}

AddRequest ask_gpus(int learners, const char* gpus) {
  AddRequest request = ask(0, learners);
  request.learners.gpus = gpus;
  return request;
}

// As an_entry(), by a POST at kPostTime.
job::RequestEntry a_new_entry(std::int64_t id, Role role, int count,
                              int first = job::kFirstRequestedOrdinal) {
  job::RequestEntry entry = an_entry(id, role, count, first);
  entry.requested_at = kPostTime;
  return entry;
}

// Aggregators listen on 80.
ClusterView around(std::vector<int> node_gpus = {8, 8, 4}) { return {std::move(node_gpus), 80}; }

Result<Change> grow_on(const ClusterView& cluster, const job::Job& job, const AddRequest& request,
                       std::span<const PodPtr> pods = {}) {
  return grow(job, pods, request, kPostTime, {}, nullptr, cluster);
}

}  // namespace

TEST_CASE("one request becomes one entry per role", "[server][grow]") {
  AddRequest request = ask(2, 1);
  request.collectors.cpus = "0.5";
  request.learners.gpus = "1";
  const job::Job job = running_job();
  const auto growth = grow(job, {}, request, kPostTime);
  REQUIRE(growth);
  CHECK(growth->changes);

  job::Requests want;
  want.next_collector = 4098;
  want.next_learner = 4097;
  want.next_id = 3;
  want.entries = {a_new_entry(1, Role::kCollector, 2), a_new_entry(2, Role::kLearner, 1)};
  want.entries[0].cpus = "0.5";
  want.entries[1].gpus = "1";
  CHECK(growth->requests == want);

  const auto url = [&](Role role, int ordinal, const char* port) {
    return job::pod_name(job, role, {ordinal, 0}) + ".rl:" + port;
  };
  CHECK(growth->answer ==
        Listing{"rl",
                "dqn-coordinator",
                {url(Role::kCollector, 4096, "22270"), url(Role::kCollector, 4097, "22270")},
                {url(Role::kLearner, 4096, "22271")}});
}

TEST_CASE("a request for nothing changes nothing", "[server][grow]") {
  const auto growth = grow(running_job(), {}, ask(0, 0), kPostTime);
  REQUIRE(growth);
  CHECK_FALSE(growth->changes);
  CHECK(growth->requests == job::Requests{});
}

TEST_CASE("an ordinal is never used twice, in any record", "[server][grow]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&, std::vector<PodPtr>&)> change;
    int want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing was requested before", [](auto&, auto&) {}, 4096},
      {"the counter has moved on",
       [](job::Job& job, auto&) { job.spec.requests.next_collector = 5000; }, 5000},
      {"the counter was lost, an entry is left",
       [](job::Job& job, auto&) {
         job.spec.requests.entries = {an_entry(1, Role::kCollector, 3, 4200)};
       },
       4203},
      {"the counter was lost, a pod is left",
       [](job::Job& job, auto& pods) {
         pods.push_back(shared_pod(job, Role::kCollector, {4300, 2}));
       },
       4301},
      {"the counter was lost, the status remembers",
       [](job::Job& job, auto&) {
         job.status.ended = {{Role::kCollector, {4400, 0}, true}};
       },
       4401},
      {"spec.requests was lost, the status has its counters",
       [](job::Job& job, auto&) { job.status.next_collector = 4450; }, 4450},
      {"spec.requests was lost, the controller replaced one",
       [](job::Job& job, auto&) {
         job.status.replaced = {{Role::kCollector, {4460, 1}}};
       },
       4461},
      {"only the other role has higher ones",
       [](job::Job& job, auto& pods) {
         job.spec.requests.entries = {an_entry(1, Role::kLearner, 1, 4500)};
         pods.push_back(shared_pod(job, Role::kLearner, {4600, 0}));
       },
       4096},
      {"base replicas count from zero",
       [](job::Job& job, auto& pods) {
         pods.push_back(shared_pod(job, Role::kCollector, {3, 0}));
       },
       4096},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  std::vector<PodPtr> pods;
  row.change(job, pods);
  const auto growth = grow(job, pods, ask(1, 0), kPostTime);
  REQUIRE(growth);
  CHECK(growth->requests.entries.back().slots == std::vector<job::Slot>{{row.want, 0}});
  CHECK(growth->requests.next_collector == row.want + 1);
}

TEST_CASE("ordinals of the PodGroup are never assigned again", "[server][grow]") {
  const job::Job job = running_job();
  gang::PodGroup group = make_pod_group(job);
  auto collectors = testing::in_request(testing::a_set("collector", 0, {}), 7);
  collectors.slots = {{4200, 0}, {4201, 3}};
  auto learners = testing::in_request(testing::a_set("ddp-learner", 0, {}), 8);
  learners.slots = {{4300, 0}};
  group.spec.gangs = testing::make_gangs({collectors, learners});
  const auto growth = grow(job, {}, ask(1, 1), kPostTime, {}, &group);
  REQUIRE(growth);
  CHECK(growth->requests.entries[0] == a_new_entry(9, Role::kCollector, 1, 4202));
  CHECK(growth->requests.entries[1] == a_new_entry(10, Role::kLearner, 1, 4301));
}

TEST_CASE("a multi-GPU learner uses up the ordinals of its pods", "[server][grow]") {
  job::Job job = running_job();
  job.spec.requests.entries = {testing::multi_gpu_entry(1, {4096, 4098}, {8, 2})};
  const auto growth = grow(job, {}, ask(0, 1), kPostTime);
  REQUIRE(growth);
  CHECK(growth->requests.entries.back().slots == std::vector<job::Slot>{{4100, 0}});
}

TEST_CASE("limits are what the flags say", "[server][grow]") {
  const job::Job job = running_job();
  Limits limits;
  limits.replicas_per_job = 3;
  CHECK(grow(job, {}, ask(2, 1), kPostTime, limits));
  const auto refused = grow(job, {}, ask(2, 2), kPostTime, limits);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kConflict);
  CHECK(refused.error().message.find("at most 3:") != std::string::npos);
}

TEST_CASE("ended replicas make room for new ones under the limit", "[server][grow]") {
  job::Job job = running_job();
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 1),
                               an_entry(2, Role::kCollector, 2, 4097)};
  job.status.ended = {{Role::kCollector, {4096, 0}, true}, {Role::kCollector, {4098, 0}, false}};
  Limits limits;
  limits.replicas_per_job = 4;
  SECTION("when there is none otherwise") {
    const auto growth = grow(job, {}, ask(3, 0), kPostTime, limits);
    REQUIRE(growth);
    CHECK(growth->requests.entries == std::vector{an_entry(2, Role::kCollector, 1, 4097),
                                                  a_new_entry(3, Role::kCollector, 3, 4099)});
  }
  SECTION("and are kept for their clients else") {
    const auto growth = grow(job, {}, ask(1, 0), kPostTime, limits);
    REQUIRE(growth);
    CHECK(growth->requests.entries.size() == 3);
  }
  SECTION("of the base, too") {
    job.spec.collector->replicas = 1;
    job.status.ended.push_back({Role::kCollector, {0, 0}, true});
    const auto growth = grow(job, {}, ask(3, 0), kPostTime, limits);
    REQUIRE(growth);
    CHECK(growth->requests.base ==
          std::vector<job::BaseChange>{{1, Role::kCollector, {0, 0}, true}});
    CHECK(growth->requests.entries.size() == 2);
  }
  SECTION("but those that live do not") {
    CHECK_FALSE(grow(job, {}, ask(4, 0), kPostTime, limits));
  }
  SECTION("nor multi-GPU learners") {
    job.spec.requests.entries = {testing::multi_gpu_entry(1, {4096}, {8, 2})};
    job.status.ended = {{Role::kAggregator, {4096, 0}, true}};
    CHECK_FALSE(grow(job, {}, ask(2, 0), kPostTime, limits));
  }
}

TEST_CASE("ids increase even when the counter was lost", "[server][grow]") {
  job::Job job = running_job();
  job.spec.requests.entries = {an_entry(7, Role::kLearner, 1)};
  const auto growth = grow(job, {}, ask(1, 0), kPostTime);
  REQUIRE(growth);
  CHECK(growth->requests.entries.back().id == 8);
  CHECK(growth->requests.next_id == 9);
}

TEST_CASE("entries of attempts that are over are dropped, their ordinals stay used",
          "[server][grow]") {
  job::Job job = running_job();
  job.status.attempt = 2;
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 2)};
  const auto growth = grow(job, {}, ask(1, 0), kPostTime);
  REQUIRE(growth);
  REQUIRE(growth->requests.entries.size() == 1);
  CHECK(growth->requests.entries[0].attempt == 2);
  CHECK(growth->requests.entries[0].slots == std::vector<job::Slot>{{4098, 0}});
}

TEST_CASE("a request above a job's limits is refused as a whole", "[server][grow]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&)> change;
    AddRequest request;
    std::optional<Code> want;  // nullopt: granted
  };
  const auto row = GENERATE(values<Row>({
      {"there is no collector template", [](job::Job& j) { j.spec.collector.reset(); }, ask(1, 1),
       Code::kInvalid},
      {"the collector section is empty", [](job::Job& j) { j.spec.collector = job::RoleSpec{}; },
       ask(1, 0), Code::kInvalid},
      {"there is no collector template, and none is asked for",
       [](job::Job& j) { j.spec.collector.reset(); }, ask(0, 1), std::nullopt},
      {"maxReplicas is reached exactly", [](job::Job& j) { j.spec.learner->max_replicas = 3; },
       ask(0, 3), std::nullopt},
      {"maxReplicas would be exceeded", [](job::Job& j) { j.spec.learner->max_replicas = 2; },
       ask(1, 3), Code::kConflict},
      {"base replicas count against maxReplicas",
       [](job::Job& j) {
         j.spec.learner->replicas = 2;
         j.spec.learner->max_replicas = 4;
       },
       ask(0, 3), Code::kConflict},
      {"a removed base replica counts no more",
       [](job::Job& j) {
         j.spec.learner->replicas = 2;
         j.spec.learner->max_replicas = 4;
         j.spec.requests.base = {{1, Role::kLearner, {1, 0}, true}};
       },
       ask(0, 3), std::nullopt},
      {"earlier requests count against maxReplicas",
       [](job::Job& j) {
         j.spec.learner->max_replicas = 4;
         j.spec.requests.entries = {an_entry(1, Role::kLearner, 2)};
       },
       ask(0, 3), Code::kConflict},
      {"replicas that have ended do not count against maxReplicas",
       [](job::Job& j) {
         j.spec.learner->max_replicas = 4;
         j.spec.requests.entries = {an_entry(1, Role::kLearner, 2)};
         j.status.ended = {{Role::kLearner, {4096, 0}, false}};
       },
       ask(0, 3), std::nullopt},
      {"base replicas removed in an earlier attempt are back",
       [](job::Job& j) {
         j.spec.learner->replicas = 2;
         j.spec.learner->max_replicas = 4;
         j.spec.requests.base = {{0, Role::kLearner, {1, 0}, true}};
       },
       ask(0, 3), Code::kConflict},
      {"all ordinals are exhausted", [](job::Job& j) { j.spec.requests.next_learner = 61'439; },
       ask(0, 2), Code::kConflict},
      {"the last ordinal is left", [](job::Job& j) { j.spec.requests.next_learner = 61'439; },
       ask(0, 1), std::nullopt},
      {"base replicas count among the pods that a job can have",
       [](job::Job& j) { j.spec.collector->replicas = job::kMaxPodsPerJob - 2; }, ask(1, 2),
       Code::kConflict},
      {"with its base replicas the job has exactly as many pods as one can have",
       [](job::Job& j) { j.spec.collector->replicas = job::kMaxPodsPerJob - 3; }, ask(1, 2),
       std::nullopt},
      {"base replicas that a client removed make capacity",
       [](job::Job& j) {
         j.spec.collector->replicas = job::kMaxPodsPerJob;
         j.spec.requests.base = {{1, Role::kCollector, {4000, 0}, true},
                                 {0, Role::kCollector, {3999, 0}, true}};
       },
       ask(0, 1), std::nullopt},
      {"the job has as many replicas as one can have",
       [](job::Job& j) {
         j.spec.requests.entries = {an_entry(1, Role::kLearner, job::kMaxPodsPerJob)};
       },
       ask(1, 0), Code::kConflict},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  row.change(job);
  const auto growth = grow(job, {}, row.request, kPostTime);
  REQUIRE(growth.has_value() == !row.want);
  if (row.want) CHECK(growth.error().code == *row.want);
}

TEST_CASE("learners with several GPUs are one entry with its split", "[server][grow][gpus]") {
  const job::Job job = running_job();
  AddRequest request = ask_gpus(2, "10");
  request.learners.cpus = "4";
  const auto growth = grow_on(around(), job, request);
  REQUIRE(growth);

  job::Requests want;
  want.next_learner = 4100;
  want.next_id = 2;
  want.entries = {a_new_entry(1, Role::kLearner, 0)};
  want.entries[0].cpus = "4";
  want.entries[0].gpus = "10";
  want.entries[0].gpu_split = {8, 2};
  want.entries[0].slots = {{4096, 0}, {4098, 0}};  // one for each pod that has GPUs
  CHECK(growth->requests == want);

  const auto url = [&](int ordinal) {
    return job::pod_name(job, Role::kAggregator, {ordinal, 0}) + ".rl:80";
  };
  CHECK(growth->answer == Listing{"rl", "dqn-coordinator", {}, {url(4096), url(4098)}});
}

TEST_CASE("the request alone decides how many GPUs a learner has", "[server][grow][gpus]") {
  job::Job job = running_job();
  job.spec.learner->pod_template = testing::with_gpus(testing::a_template(), "8");
  for (const char* gpus : {"", "1"}) {
    const auto growth = grow_on(around(), job, ask_gpus(1, gpus));
    REQUIRE(growth);
    CHECK(growth->requests.entries[0].gpu_split.empty());
    CHECK(growth->answer.learners[0].find("-learner-") != std::string::npos);
  }
  AddRequest collectors = ask(1, 0);
  collectors.collectors.gpus = "4";
  const auto growth = grow_on(around(), job, collectors);
  REQUIRE(growth);
  CHECK(growth->requests.entries[0].gpu_split.empty());
}

TEST_CASE("without an AggregatorConfig only multi-GPU learners have to wait",
          "[server][grow][gpus]") {
  const ClusterView without{{8}, std::nullopt};
  CHECK(grow_on(without, running_job(), ask_gpus(1, "1")));
  const auto waits = grow_on(without, running_job(), ask_gpus(1, "2"));
  REQUIRE_FALSE(waits);
  CHECK(waits.error().code == Code::kTransient);
  CHECK(waits.error().message.find("AggregatorConfig") != std::string::npos);
}

TEST_CASE("an ordinal of a multi-GPU learner's pods is never used twice", "[server][grow][gpus]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&, std::vector<PodPtr>&)> change;
    int want;
  };
  const auto row = GENERATE(values<Row>({
      {"an entry is left",
       [](job::Job& job, auto&) {
         job.spec.requests.entries = {an_entry(1, Role::kLearner, 1, 4200)};
         job.spec.requests.entries[0].gpu_split = {8, 8, 2};
       },
       4203},
      {"a ddp-learner is left",
       [](job::Job& job, auto& pods) {
         pods.push_back(shared_pod(job, Role::kDdpLearner, {4301, 0}));
       },
       4302},
      {"an aggregator is left",
       [](job::Job& job, auto& pods) {
         pods.push_back(shared_pod(job, Role::kAggregator, {4300, 0}));
       },
       4301},
      {"the job's own aggregator is there",
       [](job::Job& job, auto& pods) { pods.push_back(shared_pod(job, Role::kAggregator)); }, 4096},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  std::vector<PodPtr> pods;
  row.change(job, pods);
  const auto growth = grow_on(around(), job, ask_gpus(1, "10"), pods);
  REQUIRE(growth);
  CHECK(growth->requests.entries.back().slots == std::vector<job::Slot>{{row.want, 0}});
  CHECK(growth->requests.next_learner == row.want + 2);
}

TEST_CASE("multi-GPU learners beyond a bound are refused as a whole", "[server][grow][gpus]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&)> change;
    AddRequest request;
    std::optional<Code> want;  // nullopt: granted
  };
  const auto row = GENERATE(values<Row>({
      {"a learner has as many GPUs as one can have", [](job::Job&) {}, ask_gpus(1, "1024"),
       std::nullopt},
      {"a learner has too many", [](job::Job&) {}, ask_gpus(1, "1000000"), Code::kInvalid},
      {"maxReplicas counts learners, not pods",
       [](job::Job& j) { j.spec.learner->max_replicas = 2; }, ask_gpus(2, "64"), std::nullopt},
      {"their pods are as many as a job can have", [](job::Job&) {}, ask_gpus(38, "1024"),
       std::nullopt},
      {"their pods are too many", [](job::Job&) {}, ask_gpus(39, "1024"), Code::kConflict},
      {"earlier ones count with their pods",
       [](job::Job& j) {
         j.spec.requests.entries = {an_entry(1, Role::kLearner, 38)};
         j.spec.requests.entries[0].gpu_split.assign(128, 8);
       },
       ask_gpus(1, "1024"), Code::kConflict},
      {"the last ordinals are left", [](job::Job& j) { j.spec.requests.next_learner = 61'438; },
       ask_gpus(1, "16"), std::nullopt},
      {"there are too few ordinals", [](job::Job& j) { j.spec.requests.next_learner = 61'438; },
       ask_gpus(1, "17"), Code::kConflict},
      {"the last GPU's port would be too high",
       [](job::Job& j) {
         j.spec.learner->pod_template["spec"]["containers"][0]["ports"] =
             Json::array({{{"name", "nervex-port"}, {"containerPort", 65'530}}});
       },
       ask_gpus(1, "10"), Code::kInvalid},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  row.change(job);
  const auto growth = grow_on(around({8}), job, row.request);
  REQUIRE(growth.has_value() == !row.want);
  if (row.want) CHECK(growth.error().code == *row.want);
}

TEST_CASE("any sequence of requests keeps names unique and loses nothing",
          "[server][grow][property]") {
  const auto seed = GENERATE(take(50, random(0U, 1'000'000U)));
  INFO("seed " << seed);  // everything random below follows from this number
  std::mt19937 rng(seed);
  job::Job job = running_job();
  std::set<std::string> names;
  std::size_t granted = 0;
  for (int step = 0; step < 20; ++step) {
    const auto growth =
        grow(job, {}, ask(static_cast<int>(rng() % 5), static_cast<int>(rng() % 5)), kPostTime);
    REQUIRE(growth);
    for (const auto* list : {&growth->answer.collectors, &growth->answer.learners}) {
      names.insert(list->begin(), list->end());
      granted += list->size();
    }
    job.spec.requests = growth->requests;
  }
  CHECK(names.size() == granted);
  std::size_t slots = 0;
  std::set<std::int64_t> ids;
  for (const auto& entry : job.spec.requests.entries) {
    slots += entry.slots.size();
    ids.insert(entry.id);
  }
  CHECK(slots == granted);
  CHECK(ids.size() == job.spec.requests.entries.size());
}

}  // namespace nervex::server
