#include "server/decide/shrink.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>
#include <random>

#include "tests/server/builders.h"

namespace nervex::server {
namespace {

using job::Role;
using job::Slot;
using testing::an_entry;
using testing::multi_gpu_entry;

using Strings = std::vector<std::string>;

RemoveRequest less(int collectors, int learners) {
  return {"rl", "dqn-coordinator", collectors, learners};
}

// Ordinals of what is still wanted.
std::vector<int> left(job::Job job, const Change& change, Role role) {
  job.spec.requests = change.requests;
  std::vector<int> ordinals;
  for (const auto& replica : job::wanted_replicas(job, role))
    ordinals.push_back(replica.slot.ordinal);
  return ordinals;
}

std::string url(const job::Job& job, Role role, Slot slot) {
  return replica_address(job, role, job::pod_name(job, role, slot), 22272);
}

}  // namespace

TEST_CASE("what was requested last is removed first, then the base replicas", "[server][shrink]") {
  struct Row {
    std::string when;
    int remove;
    std::vector<int> left;
  };
  const auto row = GENERATE(values<Row>({
      {"none is asked for", 0, {0, 1, 4096, 4097, 4098}},
      {"one is asked for", 1, {0, 1, 4096, 4097}},
      {"the newest entry and more", 2, {0, 1, 4096}},
      {"all that was requested", 3, {0, 1}},
      {"a part of the base replicas too", 4, {0}},
      {"all there is", 5, {}},
      {"more than there is", 2'000'000'000, {}},
  }));
  INFO("when " << row.when);
  job::Job job = running_job(2, 1);
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 2),
                               an_entry(2, Role::kCollector, 1, 4098)};
  const Change change = shrink({job}, less(row.remove, 0));
  CHECK(left(job, change, Role::kCollector) == row.left);
  CHECK(left(job, change, Role::kLearner) == std::vector<int>{0});
  CHECK(change.answer.collectors.size() == 5 - row.left.size());
  CHECK(change.answer.learners.empty());
  CHECK(change.changes == (row.remove > 0));
}

TEST_CASE("a removal is written to the entry or base record of the replica", "[server][shrink]") {
  job::Job job = running_job(1, 1);
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 1), an_entry(2, Role::kLearner, 2)};
  job.spec.requests.base = {{1, Role::kCollector, {0, 3}, false}};
  const Change change = shrink({job}, less(2, 1));
  job::Requests want = job.spec.requests;
  want.next_collector = 4097;  // both counters were lost
  want.next_learner = 4098;
  want.next_id = 4;
  want.entries = {an_entry(2, Role::kLearner, 1)};          // the empty entry was removed
  want.base = {{1, Role::kCollector, {0, 3}, true, 3, 1}};  // until `replicas` is no longer 1
  CHECK(change.requests == want);
  CHECK(change.answer ==
        Listing{"rl",
                "dqn-coordinator",
                {url(job, Role::kCollector, {0, 3}), url(job, Role::kCollector, {4096, 0})},
                {url(job, Role::kLearner, {4097, 0})}});
}

TEST_CASE("a base replica that returned can be removed again", "[server][shrink]") {
  job::Job job = running_job(2, 0);
  job.spec.requests = shrink({job}, less(1, 0)).requests;
  CHECK(left(job, {job.spec.requests, {}, false}, Role::kCollector) == std::vector<int>{0});
  job.spec.collector->replicas = 3;  // as `kubectl scale` does
  CHECK(left(job, {job.spec.requests, {}, false}, Role::kCollector) == std::vector<int>{0, 1, 2});
  const Change change = shrink({job}, less(2, 0));
  CHECK(left(job, change, Role::kCollector) == std::vector<int>{0});
  CHECK(change.answer.collectors ==
        Strings{url(job, Role::kCollector, {1, 1}), url(job, Role::kCollector, {2, 0})});
}

TEST_CASE("a removal takes a live replica, not an ended one", "[server][shrink]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&, std::vector<PodPtr>&)> change;
    std::vector<int> left;
  };
  const auto finished = [](const job::Job& job, Slot slot, const char* group = kGroupUid) {
    kube::Pod pod = running_pod(job, Role::kCollector, slot, group);
    pod.phase = kube::PodPhase::kFailed;
    return share(std::move(pod));
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"all live", [](auto&, auto&) {}, {4096, 4097}},
      {"the status knows of an end",
       [](job::Job& job, auto&) {
         job.status.ended = {{Role::kCollector, {4098, 0}, true}};
       },
       {4096, 4098}},
      {"only its pod tells yet",
       [&](job::Job& job, auto& pods) {
         pods.push_back(finished(job, {4098, 0}));
       },
       {4096, 4098}},
      {"its pod was evicted: the controller makes another one",
       [&](job::Job& job, auto& pods) {
         kube::Pod pod = *finished(job, {4098, 0});
         pod.reason = "Evicted";
         pods.push_back(share(std::move(pod)));
       },
       {4096, 4097}},
      {"the end was of an earlier incarnation",
       [&](job::Job& job, auto& pods) {
         job.status.ended = {{Role::kCollector, {4098, 0}, false}};
         job.spec.requests.entries[0].slots[2].incarnation = 1;
         pods.push_back(finished(job, {4098, 0}));
       },
       {4096, 4097}},
      {"the end was in another attempt",
       [&](job::Job& job, auto& pods) {
         pods.push_back(finished(job, {4098, 0}, "uid-old"));
       },
       {4096, 4097}},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 3)};
  const auto group = make_pod_group(job);
  std::vector<PodPtr> pods;
  row.change(job, pods);
  const Change change = shrink({job, pods, &group}, less(1, 0));
  CHECK(left(job, change, Role::kCollector) == row.left);
  CHECK(change.answer.collectors.size() == 1);
}

TEST_CASE("a multi-GPU learner is removed as one", "[server][shrink]") {
  job::Job job = running_job();
  job.spec.requests.entries = {multi_gpu_entry(1, {4096, 4098}, {8, 2})};
  const Change change = shrink({job}, less(0, 1));
  REQUIRE(change.requests.entries.size() == 1);
  CHECK(change.requests.entries[0].slots == std::vector<Slot>{{4096, 0}});
  CHECK(change.answer.learners == std::vector{url(job, Role::kAggregator, {4098, 0})});
}

TEST_CASE("a removed multi-GPU learner is named at its aggregator's port", "[server][shrink]") {
  job::Job job = running_job();
  job.spec.requests.entries = {multi_gpu_entry(1, {4096}, {8, 2})};
  const Change change = shrink({.job = job, .aggregator_port = 80}, less(0, 1));
  CHECK(change.answer.learners ==
        std::vector{job::pod_name(job, Role::kAggregator, {4096, 0}) + ".rl:80"});
}

TEST_CASE("entries and base changes of another attempt are none of this one's",
          "[server][shrink]") {
  job::Job job = running_job(1);
  job.status.attempt = 2;
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 2)};
  job.spec.requests.base = {{1, Role::kCollector, {0, 1}, true}};
  const Change change = shrink({job}, less(5, 0));
  CHECK(change.answer.collectors == std::vector{url(job, Role::kCollector, {0, 0})});
  CHECK(change.requests.base ==
        std::vector<job::BaseChange>{{2, Role::kCollector, {0, 0}, true, 2, 1}});
  CHECK(change.requests.entries.empty());
  CHECK(change.requests.next_collector == 4098);
}

TEST_CASE("a role without a template has nothing to remove", "[server][shrink]") {
  job::Job job = running_job();
  job.spec.learner.reset();
  CHECK_FALSE(shrink({job}, less(0, 3)).changes);
}

TEST_CASE("the number of wanted replicas drops by the number in the answer",
          "[server][shrink][property]") {
  const auto seed = GENERATE(take(50, random(0U, 1'000'000U)));
  INFO("seed " << seed);  // everything random below follows from this number
  std::mt19937 rng(seed);
  job::Job job = running_job(static_cast<int>(rng() % 4), 0);
  int ordinal = job::kFirstRequestedOrdinal;
  for (int i = 0; i < 5; ++i) {
    const int count = static_cast<int>(1 + rng() % 3);
    job.spec.requests.entries.push_back(an_entry(i + 1, Role::kCollector, count, ordinal));
    ordinal += count;
  }
  for (int step = 0; step < 6; ++step) {
    const auto before = job::wanted_replicas(job, Role::kCollector).size();
    const auto asked = rng() % 5;
    const Change change = shrink({job}, less(static_cast<int>(asked), 0));
    job.spec.requests = change.requests;
    CHECK(change.answer.collectors.size() == std::min<std::size_t>(asked, before));
    CHECK(job::wanted_replicas(job, Role::kCollector).size() ==
          before - change.answer.collectors.size());
    for (const auto& entry : change.requests.entries) CHECK_FALSE(entry.slots.empty());
  }
}

}  // namespace nervex::server
