#include "server/decide/gpu_split.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <numeric>
#include <random>
#include <string>

#include "job/aggregator_config.h"

namespace nervex::server {
namespace {

std::vector<int> nodes(std::initializer_list<std::pair<int, int>> gpus_and_count) {
  std::vector<int> all;
  for (const auto& [gpus, count] : gpus_and_count) {
    all.insert(all.end(), static_cast<std::size_t>(count), gpus);
  }
  return all;
}

std::string node(const std::string& spec, const std::string& allocatable) {
  return R"({"metadata":{"name":"n1","uid":"u1","resourceVersion":"7"},"spec":)" + spec +
         R"(,"status":{"capacity":{"nvidia.com/gpu":"16"},"allocatable":)" + allocatable + "}}";
}

std::string config(const std::string& ports) {
  return R"({"metadata":{"name":"aggregator-config","namespace":"nervex-system"},"spec":
    {"aggregator":{"template":{"spec":{"containers":[{"name":"nervex-container")" +
         ports + "}]}}}}}";
}

std::shared_ptr<const GpuNode> with(int gpus, bool unschedulable = false) {
  return std::make_shared<const GpuNode>(GpuNode{"", "", "", gpus, unschedulable});
}

using Nodes = std::vector<std::shared_ptr<const GpuNode>>;

}  // namespace

TEST_CASE("a learner's pods are as large as most nodes", "[server][gpu_split]") {
  struct Row {
    std::string when;
    std::vector<int> nodes;
    int gpus;
    std::vector<int> want;
  };
  const auto mixed = nodes({{8, 4}, {10, 3}, {6, 3}});
  const auto tie = nodes({{8, 4}, {10, 4}});
  const auto eights = nodes({{8, 3}});
  const auto acceptance = std::vector<int>{8, 8, 0, 4};
  const auto row = GENERATE_COPY(values<Row>({
      {"one and a half pods are needed", mixed, 12, {8, 4}},
      {"two whole pods are needed", mixed, 16, {8, 8}},
      {"two sizes are equally frequent, and more than one pod is needed", tie, 16, {10, 6}},
      {"two sizes are equally frequent, and one pod is enough", tie, 8, {8}},
      {"the last pod has the rest", eights, 10, {8, 2}},
      {"less than a node is asked for", eights, 2, {2}},
      {"larger nodes are rarer", nodes({{2, 3}, {16, 2}}), 16, {2, 2, 2, 2, 2, 2, 2, 2}},
      {"nodes without GPUs are many", acceptance, 10, {8, 2}},
      {"no node is known", {}, 12, {12}},
      {"no node has a GPU", {0, 0}, 12, {12}},
      {"one GPU is asked for", eights, 1, {}},
      {"none is asked for", eights, 0, {}},
      {"less than none is asked for", eights, -1, {}},
  }));
  INFO("when " << row.when);
  CHECK(split_gpus(row.gpus, row.nodes) == row.want);
}

TEST_CASE("a split has all GPUs, and each of its pods fits a node",
          "[server][gpu_split][property]") {
  const auto seed = GENERATE(take(100, random(0U, 1'000'000U)));
  INFO("seed " << seed);  // everything random below follows from this number
  std::mt19937 rng(seed);
  std::vector<int> all(1 + rng() % 12);
  for (int& gpus : all) gpus = 1 + static_cast<int>(rng() % 16);
  const int gpus = 2 + static_cast<int>(rng() % kMaxGpusPerLearner);
  const auto split = split_gpus(gpus, all);
  CHECK(std::accumulate(split.begin(), split.end(), 0) == gpus);
  CHECK(*std::max_element(split.begin(), split.end()) <= *std::max_element(all.begin(), all.end()));
  CHECK(std::is_sorted(split.rbegin(), split.rend()));

  std::shuffle(all.begin(), all.end(), rng);  // the order of nodes is not guaranteed
  CHECK(split_gpus(gpus, all) == split);
}

TEST_CASE("a node is decoded to its allocatable GPUs", "[server][gpu_split]") {
  const auto open = decode_gpu_node(node("{}", R"({"nvidia.com/gpu":"8","cpu":"96"})"));
  REQUIRE(open);
  CHECK(*open == GpuNode{"n1", "u1", "7", 8, false});

  const auto cordoned =
      decode_gpu_node(node(R"({"unschedulable":true})", R"({"nvidia.com/gpu":"8"})"));
  REQUIRE(cordoned);
  CHECK(cordoned->unschedulable);
}

TEST_CASE("a node without GPUs is not kept at all", "[server][gpu_split]") {
  const char* allocatable = GENERATE("{}", R"({"nvidia.com/gpu":"0"})", R"({"cpu":"96"})");
  const auto none = decode_gpu_node(node("{}", allocatable));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
}

TEST_CASE("an AggregatorConfig is decoded to its port", "[server][gpu_split]") {
  const auto declared = job::parse_aggregator_config(
      config(R"(,"ports":[{"name":"nervex-port","containerPort":80}])"));
  REQUIRE(declared);
  CHECK(declared->port == 80);
  CHECK(job::parse_aggregator_config(config(""))->port == 22272);
  CHECK_FALSE(job::parse_aggregator_config(R"({"metadata":{"name":"a","namespace":"b"}})"));
  CHECK_FALSE(job::parse_aggregator_config("["));
}

TEST_CASE("cordoned nodes count only if there are no others", "[server][gpu_split]") {
  CHECK(count_gpus(Nodes{with(8), with(4, true), with(8)}) == std::vector<int>{8, 8});
  CHECK(count_gpus(Nodes{with(4, true), with(8, true)}) == std::vector<int>{4, 8});
  CHECK(count_gpus(Nodes{}).empty());
}

}  // namespace nervex::server
