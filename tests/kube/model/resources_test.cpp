#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/resources.h"

namespace nervex::kube {
namespace {

constexpr std::int64_t kMaxAmount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMebi = 1024 * 1024;

TEST_CASE("resources add up by name and forget zeros", "[kube][resources]") {
  Resources sum{{"memory", 4}, {"cpu", 1}};
  sum += Resources{{"cpu", 2}, {"nvidia.com/gpu", 8}};
  CHECK(sum == Resources{{"cpu", 3}, {"memory", 4}, {"nvidia.com/gpu", 8}});
  sum -= Resources{{"memory", 4}, {"nvidia.com/gpu", 9}};
  CHECK(sum == Resources{{"cpu", 3}, {"nvidia.com/gpu", -1}});
  CHECK(sum.get("memory") == 0);
  sum += sum;
  CHECK(sum.get("cpu") == 6);
  const Resources same = sum;
  sum -= same;
  CHECK(sum.empty());
  sum.raise_to({{"cpu", 5}, {"memory", -1}});
  CHECK(sum == Resources{{"cpu", 5}});
}

TEST_CASE("resources saturate instead of wrapping around", "[kube][resources]") {
  Resources much{{"memory", kMaxAmount}};
  much += Resources{{"memory", 1}};
  CHECK(much.get("memory") == kMaxAmount);
  Resources little{{"memory", -kMaxAmount}};
  little -= Resources{{"memory", kMaxAmount}};
  CHECK(little.get("memory") == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("fits_in and first_lacking compare each resource asked for", "[kube][resources]") {
  struct Row {
    std::string when;
    Resources ask;
    Resources free;
    std::string lacking;
    std::int64_t times;  // of at most 100
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is asked for", {}, {}, "", 100},
      {"it fits exactly", {{"cpu", 2}}, {{"cpu", 2}}, "", 1},
      {"more is there than asked for", {{"cpu", 2}}, {{"cpu", 7}, {"memory", 1}}, "", 3},
      {"the resource does not exist there",
       {{"nvidia.com/gpu", 1}},
       {{"cpu", 8}},
       "nvidia.com/gpu",
       0},
      {"the first by name is reported",
       {{"memory", 9}, {"cpu", 9}},
       {{"cpu", 1}, {"memory", 1}},
       "cpu",
       0},
      {"an overcommitted node fits nothing", {{"cpu", 1}}, {{"cpu", -5}}, "cpu", 0},
      {"a negative ask always fits", {{"cpu", -1}}, {{"cpu", -5}}, "", 100},
      {"a node has one of each host port that no pod holds",
       {{"hostPort:TCP/80", 1}},
       {{"cpu", 8}},
       "",
       1},
      {"a pod holds the host port",
       {{"cpu", 1}, {"hostPort:TCP/80", 1}},
       {{"cpu", 8}, {"hostPort:TCP/80", -1}},
       "hostPort:TCP/80",
       0},
      {"a pod holds another host port", {{"hostPort:UDP/80", 1}}, {{"hostPort:TCP/80", -1}}, "", 1},
      {"the scarcest resource bounds how often",
       {{"cpu", 1}, {"memory", 4}},
       {{"cpu", 50}, {"memory", 9}},
       "",
       2},
  }));
  INFO("when " << row.when);
  CHECK(row.ask.first_lacking(row.free) == row.lacking);
  CHECK(row.ask.fits_in(row.free) == row.lacking.empty());
  CHECK(row.ask.times_in(row.free, 100) == row.times);
}

TEST_CASE("resource lists decode with their units and say which entry is wrong",
          "[kube][resources]") {
  const auto good =
      decode_resources({{"cpu", "500m"}, {"memory", "1Gi"}, {"nvidia.com/gpu", 8}, {"pods", "0"}});
  REQUIRE(good);
  CHECK(*good == Resources{{"cpu", 500}, {"memory", 1024 * kMebi}, {"nvidia.com/gpu", 8}});
  const Json back = {{"cpu", "500m"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "8"}};
  CHECK(encode_resources(*good) == back);
  CHECK(decode_resources(Json())->empty());

  const auto bad = decode_resources({{"memory", "lots"}});
  REQUIRE_FALSE(bad);
  CHECK(bad.error() == Error{Code::kInvalid, "memory: \"lots\" is not a quantity"});
  CHECK_FALSE(decode_resources({{"memory", true}}));
  CHECK_FALSE(decode_resources(Json::array()));
}

TEST_CASE("host ports are in no resource list and are named without an amount",
          "[kube][resources]") {
  const Resources need{{"cpu", 500}, {host_port("", 80), 1}};
  CHECK(encode_resources(need) == Json{{"cpu", "500m"}});
  CHECK(format_need(host_port("UDP", 53), 1) == "hostPort UDP/53");
  CHECK(format_need("cpu", 500) == "cpu 500m");
}

TEST_CASE("pod_requests counts as kube-scheduler does", "[kube][resources]") {
  struct Row {
    std::string when;
    std::string spec;
    Resources want;  // "pods": 1 is added below
  };
  const auto row = GENERATE(values<Row>({
      {"there is nothing", "{}", {}},
      {"there are no requests", R"({"containers":[{"name":"a"}]})", {}},
      {"containers run side by side",
       R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Mi"}}},
                         {"resources":{"requests":{"cpu":"500m"}}}]})",
       {{"cpu", 1500}, {"memory", kMebi}}},
      {"a limit stands in for an absent request, of that resource only",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"},
                                       "limits":{"cpu":"4","nvidia.com/gpu":"2"}}}]})",
       {{"cpu", 1000}, {"nvidia.com/gpu", 2}}},
      {"containers ask for more than can be counted",
       R"({"containers":[{"resources":{"requests":{"memory":"10Ei"}}},
                         {"resources":{"requests":{"memory":" 1Gi"}}}]})",
       {{"memory", kMaxAmount}}},
      {"a request of zero is a request",
       R"({"containers":[{"resources":{"requests":{"cpu":"0"},"limits":{"cpu":"4"}}}]})",
       {}},
      {"an init container asks for more than all that run later",
       R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"4Mi"}}}],
           "initContainers":[{"resources":{"requests":{"cpu":"3","memory":"1Mi"}}},
                             {"resources":{"requests":{"cpu":"2"}}}]})",
       {{"cpu", 3000}, {"memory", 4 * kMebi}}},
      {"a sidecar runs beside the containers",
       R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],
           "initContainers":[{"restartPolicy":"Always",
                              "resources":{"requests":{"cpu":"1"}}}]})",
       {{"cpu", 3000}}},
      {"a later init container runs beside the sidecars before it",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}},
                             {"resources":{"requests":{"cpu":"5"}}}]})",
       {{"cpu", 7000}}},
      {"an earlier init container does not run beside a later sidecar",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "initContainers":[{"resources":{"requests":{"cpu":"5"}}},
                             {"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}]})",
       {{"cpu", 5000}}},
      {"host ports of containers and sidecars, not of init containers that end",
       R"({"containers":[{"ports":[{"containerPort":1,"hostPort":80},{"containerPort":2}]},
                         {"ports":[{"containerPort":53,"hostPort":53,"protocol":"UDP"}]}],
           "initContainers":[{"restartPolicy":"Always","ports":[{"hostPort":81}]},
                             {"ports":[{"hostPort":82}]}]})",
       {{"hostPort:TCP/80", 1}, {"hostPort:TCP/81", 1}, {"hostPort:UDP/53", 1}}},
      {"a host port that two containers name is one",
       R"({"containers":[{"ports":[{"hostPort":80}]},{"ports":[{"hostPort":80}]}]})",
       {{"hostPort:TCP/80", 1}}},
      {"every port is a host port in the node's own network",
       R"({"hostNetwork":true,
           "containers":[{"ports":[{"containerPort":1},{"containerPort":2,"hostPort":3}]}]})",
       {{"hostPort:TCP/1", 1}, {"hostPort:TCP/3", 1}}},
      {"overhead comes on top",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "overhead":{"cpu":"250m","memory":"1Mi"}})",
       {{"cpu", 1250}, {"memory", kMebi}}},
      {"the pod as a whole asks for something: it replaces the sum",
       R"({"containers":[{"resources":{"requests":{"cpu":"1","nvidia.com/gpu":"1"}}}],
           "resources":{"requests":{"cpu":"6","nvidia.com/gpu":"9"}}})",
       {{"cpu", 6000}, {"nvidia.com/gpu", 1}}},
      {"the pod as a whole is limited: that counts where no container asks",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "resources":{"limits":{"cpu":"6","memory":"1Mi"}}})",
       {{"cpu", 1000}, {"memory", kMebi}}},
      {"a quantity cannot be read",
       R"({"containers":[{"resources":{"requests":{"cpu":"x"}}}]})",
       {}},
      {"a quantity is a number",
       R"({"containers":[{"resources":{"requests":{"cpu":0.5}}}]})",
       {{"cpu", 500}}},
      {"everything is of the wrong type",
       R"({"containers":7,"initContainers":{},"overhead":[]})",
       {}},
  }));
  INFO("when " << row.when);
  const auto spec = parse_json(row.spec);
  REQUIRE(spec);
  Resources want = row.want;
  want.set("pods", 1);
  CHECK(pod_requests(*spec) == want);
}

}  // namespace
}  // namespace nervex::kube
