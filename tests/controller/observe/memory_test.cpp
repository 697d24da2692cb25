// Reading a job's pods live: what it costs in requests, and in memory.
#include "controller/observe/observe.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "controller/act/writes.h"
#include "controller/observe/stores.h"
#include "gang/slot.h"
#include "job/names.h"
#include "tests/controller/cluster.h"
#include "tests/controller/large_job.h"
#include "tests/support/sanitized.h"

// ---- every byte of this program is counted

namespace {

thread_local bool counts = false;
thread_local std::size_t now = 0;
thread_local std::size_t peak = 0;
thread_local std::size_t blocks = 0;

// In front of each block: its size, if it was counted.
constexpr std::size_t kHeader = alignof(std::max_align_t);

}  // namespace

// A sanitizer has a separate allocator: nothing is counted there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) {
  auto* block = static_cast<char*>(std::malloc(size + kHeader));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(block) = counts ? size : 0;
  if (counts) peak = std::max(peak, now += size);
  if (counts) ++blocks;
  return block + kHeader;
}

void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  char* block = static_cast<char*>(pointer) - kHeader;
  if (counts) now -= std::min(now, *reinterpret_cast<std::size_t*>(block));
  std::free(block);
}
void operator delete(void* pointer, std::size_t) noexcept { operator delete(pointer); }
#endif

namespace nervex::controller {
namespace {

using testing::ControllerCluster;

// 5,000 pods of 100 kB each, made page by page: 500 MB of JSON in all.
class LargePods final : public kube::Api {
 public:
  static constexpr int kPods = 5'000;

  Result<std::string> send(const kube::ApiRequest& request) override {
    const bool was_counting = std::exchange(counts, false);  // a reply that no caller holds yet
    const int first = number_after(request.path, "continue=", 0);
    const int limit = number_after(request.path, "limit=", kPods);
    const int end = std::min(kPods, first + limit);
    std::string items;
    for (int i = first; i < end; ++i) items += (i == first ? "" : ",") + pod(i);
    const std::string more = end < kPods ? R"(,"continue":")" + std::to_string(end) + '"' : "";
    counts = was_counting;
    ++requests;
    return R"({"metadata":{"resourceVersion":"9")" + more + R"(},"items":[)" + items + "]}";
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return Error{Code::kInternal, "not asked for"};
  }

  int requests = 0;

 private:
  static int number_after(const std::string& path, const std::string& key, int otherwise) {
    const auto at = path.find(key);
    return at == std::string::npos ? otherwise : std::atoi(path.c_str() + at + key.size());
  }
  static std::string pod(int i) {
    return R"({"metadata":{"namespace":"rl","name":"p)" + std::to_string(i) +
           R"(","ownerReferences":[{"apiVersion":"nervex.sensetime.com/v1alpha1",)" +
           R"("kind":"NerveXJob","name":"dqn","uid":"u","controller":true}]},)" +
           R"("spec":{"containers":[{"name":"c","env":[{"name":"X","value":")" +
           std::string(100'000, 'x') + R"("}]}]},"status":{"phase":"Running"}})";
  }
};

TEST_CASE("5,000 large pods, 500 MB in all, are read in the memory of one page",
          "[controller][live_pods]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  LargePods api;
  job::Job job;
  job.meta.ns = "rl";
  job.meta.name = "dqn";
  job.meta.uid = "u";
  int pods = 0;
  counts = true;
  now = peak = 0;
  const auto read = for_each_live_pod(api, job, [&pods](const kube::Pod&) { ++pods; });
  counts = false;
  CHECK(read.has_value());
  CHECK(pods == LargePods::kPods);
  INFO("peak " << peak << " bytes in " << api.requests << " requests");
  CHECK(peak < 64'000'000);  // a page of 5 MB and its parser
}

// A job in its second attempt, its base gang planned, nothing of it created yet.
struct SecondAttempt : ControllerCluster {
  SecondAttempt() {
    create_job(3, 0);
    change_spec({{"backoffLimit", 3}});
    plan_and_run();
    end_pod("dqn-coordinator", false);
    settle();
    clock.advance(std::chrono::minutes(7));
    settle();
    plan();
    sync();
    count_lists();
  }
  void count_lists() {
    api.fail_next(
        [this](const kube::ApiRequest& request) {
          const bool is_list = request.path.find("/pods?") != std::string::npos;
          lists += request.method == "GET" && is_list ? 1 : 0;
          return false;
        },
        {Code::kInternal, "never"});
  }
  int lists = 0;
};

TEST_CASE("a later attempt lists pods of earlier ones once", "[controller][live_pods]") {
  SecondAttempt cluster;
  REQUIRE(cluster.job().status.attempt == 2);
  cluster.settle();
  CHECK(cluster.names(kube::kPods).size() == 4);
  CHECK(cluster.lists == 1);
  // A pod more, and one that is replaced: by then it is known, and of the one before the name is.
  cluster.run_pods();
  cluster.settle();
  cluster.change_spec({{"collector", {{"replicas", 4}}}});
  cluster.settle();
  cluster.plan();
  cluster.settle();
  CHECK(cluster.names(kube::kPods).size() == 5);
  CHECK(cluster.lists == 1);
  SECTION("another process lists them once more") {
    cluster.restart();
    cluster.change_spec({{"collector", {{"replicas", 5}}}});
    cluster.settle();
    cluster.plan();
    cluster.settle();
    CHECK(cluster.names(kube::kPods).size() == 6);
    CHECK(cluster.lists == 2);
  }
}

TEST_CASE("while a pod of an earlier attempt exists, its slot waits and the check is repeated",
          "[controller][live_pods]") {
  SecondAttempt cluster;
  const job::Job job = cluster.job();
  const std::string old = job::pod_name(job, job::Role::kCollector, {1, 7});
  const gang::PodSlot slot{"of attempt 1", "collector", {1, 7}, 3};
  cluster.api.add(
      kube::kPods, "rl",
      {{"metadata",
        {{"name", old},
         {"labels", {{job::kJobLabel, "dqn"}}},
         {"annotations", gang::annotations_for(slot)},
         {"ownerReferences",
          Json::array({kube::encode_controller_ref(
              {std::string(job::kApiVersion), std::string(job::kKind), "dqn", job.meta.uid})})}}},
       {"status", {{"phase", "Running"}}}});
  Writes writes(cluster.api, cluster.controller->stores, job);
  const auto confirm = [&](int ordinal) {
    return writes.confirm_free({"the current", {{job::Role::kCollector, {ordinal, 0}}}});
  };
  const auto taken = confirm(1);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == Code::kConflict);
  CHECK(confirm(2).has_value());
  CHECK(cluster.lists == 2);
  cluster.api.remove(kube::kPods, "rl", old);
  CHECK(confirm(1).has_value());
  CHECK(cluster.lists == 3);
  CHECK(confirm(1).has_value());
  CHECK(cluster.lists == 3);
}

TEST_CASE("the pod before a replaced one is asked for by its name", "[controller][live_pods]") {
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.settle();
  cluster.plan();
  cluster.settle();
  const job::Job job = cluster.job();
  const std::string before = job::pod_name(job, job::Role::kCollector, {0, 0});
  REQUIRE(cluster.controller->stores.pods.get("rl/" + before) != nullptr);
  Writes writes(cluster.api, cluster.controller->stores, job);
  const ConfirmFree question{"group", {{job::Role::kCollector, {0, 1}}}};
  int lists = 0;
  cluster.api.fail_next(
      [&lists](const kube::ApiRequest& request) {
        lists += request.path.find("/pods?") != std::string::npos ? 1 : 0;
        return false;
      },
      {Code::kInternal, "never"});
  const auto living = writes.confirm_free(question);
  REQUIRE_FALSE(living);
  CHECK(living.error().code == Code::kConflict);
  SECTION("gone") {
    cluster.api.remove(kube::kPods, "rl", before);
    CHECK(writes.confirm_free(question).has_value());
  }
  SECTION("finished") {
    cluster.end_pod(before, false);
    CHECK(writes.confirm_free(question).has_value());
  }
  SECTION("the API server does not answer") {
    cluster.api.fail_next("GET", "/pods/", {Code::kTransient, "timeout"});
    CHECK_FALSE(writes.confirm_free(question));
  }
  CHECK(lists == 0);
}

// A copy of the job's templates, or of anything else that grows with the job, for each pod would
// show as more blocks for each of many pods.
std::size_t blocks_of_a_round(const Observed& seen) {
  blocks = 0;
  counts = true;
  const Decision decision = reconcile(seen);
  counts = false;
  CHECK(decision.actions.size() < 10);
  return blocks;
}

TEST_CASE("a round allocates in proportion to the pods", "[controller][reconcile]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  const auto all_run = [](int pods) {
    testing::LargeJob job(pods);
    job.start();
    return job;
  };
  SECTION("that run") {
    const double few = static_cast<double>(blocks_of_a_round(all_run(200).seen)) / 200;
    const double many = static_cast<double>(blocks_of_a_round(all_run(1'600).seen)) / 1'600;
    CHECK(many < 1.1 * few);
    CHECK(many < 300);  // most of them in comparing the Services
  }
  SECTION("that are to be created") {
    const double few = static_cast<double>(blocks_of_a_round(testing::LargeJob(200).seen)) / 200;
    const double many =
        static_cast<double>(blocks_of_a_round(testing::LargeJob(1'600).seen)) / 1'600;
    CHECK(many < 1.1 * few);
  }
}

TEST_CASE("copies of a job share its templates", "[controller][reconcile]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  testing::LargeJob job(1);
  for (int i = 0; i < 1'000; ++i) {
    job.seen.job.spec.coordinator_template["spec"]["nodeSelector"][std::to_string(i)] = "large";
  }
  blocks = 0;
  counts = true;
  const job::Job copy = job.seen.job;
  counts = false;
  CHECK(blocks < 100);
  CHECK(copy == job.seen.job);
}

}  // namespace
}  // namespace nervex::controller
