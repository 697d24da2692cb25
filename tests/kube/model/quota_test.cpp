#include "kube/model/quota.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::kube {
namespace {

TEST_CASE("a quota is kept as far as it surely applies to pods", "[kube][quota]") {
  struct Row {
    std::string when;
    std::string spec_and_status;
    bool not_best_effort;
    std::vector<QuotaLimit> limits;
  };
  const auto row = GENERATE(values<Row>({
      {"requests and pods are counted, other things are not",
       R"("status":{"hard":{"pods":"10","count/pods":"20","cpu":"4","requests.memory":"1Ki",
                            "requests.nvidia.com/gpu":"16","requests.storage":"1Ti",
                            "limits.cpu":"1","services":"3"},
                    "used":{"pods":"3","cpu":"1500m","requests.nvidia.com/gpu":"12"}})",
       false,
       {{"count/pods", "pods", 20, 0},
        {"cpu", "cpu", 4000, 1500},
        {"pods", "pods", 10, 3},
        {"requests.memory", "memory", 1024, 0},
        {"requests.nvidia.com/gpu", "nvidia.com/gpu", 16, 12}}},
      {"what is enforced is in the status",
       R"("spec":{"hard":{"pods":"9"}},"status":{"hard":{"pods":"5"}})",
       false,
       {{"pods", "pods", 5, 0}}},
      {"it is new", R"("spec":{"hard":{"pods":"9"}})", false, {{"pods", "pods", 9, 0}}},
      {"it counts pods that are not best effort",
       R"("spec":{"hard":{"pods":"9"},"scopes":["NotBestEffort"]})",
       true,
       {{"pods", "pods", 9, 0}}},
      {"it has another scope",
       R"("spec":{"hard":{"pods":"9"},"scopes":["Terminating"]})",
       false,
       {}},
      {"it has a scope selector",
       R"("spec":{"hard":{"pods":"9"},"scopeSelector":{"matchExpressions":[]}})",
       false,
       {}},
      {"a quantity cannot be read", R"("spec":{"hard":{"pods":"many"}})", false, {}},
  }));
  INFO("when " << row.when);
  const auto quota =
      decode_quota(R"({"metadata":{"name":"q","namespace":"rl"},)" + row.spec_and_status + "}");
  REQUIRE(quota);
  CHECK(quota->meta.key() == "rl/q");
  CHECK(quota->not_best_effort == row.not_best_effort);
  CHECK(quota->limits == row.limits);
}

}  // namespace
}  // namespace nervex::kube
