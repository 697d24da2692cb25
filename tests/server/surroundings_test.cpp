#include "server/surroundings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::server {
namespace {

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

TEST_CASE("of a node its allocatable GPUs are kept", "[server][surroundings]") {
  const auto open = decode_gpu_node(node("{}", R"({"nvidia.com/gpu":"8","cpu":"96"})"));
  REQUIRE(open);
  CHECK(*open == GpuNode{"n1", "u1", "7", 8, false});

  const auto cordoned =
      decode_gpu_node(node(R"({"unschedulable":true})", R"({"nvidia.com/gpu":"8"})"));
  REQUIRE(cordoned);
  CHECK(cordoned->unschedulable);
}

TEST_CASE("a node without GPUs is not kept at all", "[server][surroundings]") {
  const char* allocatable = GENERATE("{}", R"({"nvidia.com/gpu":"0"})", R"({"cpu":"96"})");
  const auto none = decode_gpu_node(node("{}", allocatable));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
}

TEST_CASE("of an AggregatorConfig the port is kept", "[server][surroundings]") {
  const auto declared = job::parse_aggregator_config(
      config(R"(,"ports":[{"name":"nervex-port","containerPort":80}])"));
  REQUIRE(declared);
  CHECK(declared->port == 80);
  CHECK(job::parse_aggregator_config(config(""))->port == 22272);
  CHECK_FALSE(job::parse_aggregator_config(R"({"metadata":{"name":"a","namespace":"b"}})"));
  CHECK_FALSE(job::parse_aggregator_config("["));
}

TEST_CASE("cordoned nodes count only where there are no others", "[server][surroundings]") {
  CHECK(gpus_of(Nodes{with(8), with(4, true), with(8)}) == std::vector<int>{8, 8});
  CHECK(gpus_of(Nodes{with(4, true), with(8, true)}) == std::vector<int>{4, 8});
  CHECK(gpus_of({}).empty());
}

}  // namespace nervex::server
