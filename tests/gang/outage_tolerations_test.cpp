#include "gang/outage_tolerations.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "gang/slot.h"

namespace nervex::gang {
namespace {

using Annotations = std::map<std::string, std::string>;

constexpr const char* kNotReadyKey = "nervex.sensetime.com/tolerates-not-ready-seconds";
constexpr const char* kUnreachableKey = "nervex.sensetime.com/tolerates-unreachable-seconds";

TEST_CASE("tolerations that name the taint of an outage by key are kept", "[gang][outage]") {
  struct Row {
    std::string when;
    std::string tolerations;
    Annotations kept;
  };
  const std::string not_ready = R"("key":"node.kubernetes.io/not-ready")";
  const std::string unreachable = R"("key":"node.kubernetes.io/unreachable")";
  const auto row = GENERATE_COPY(values<Row>({
      {"none", "[]", {}},
      {"both, for a time",
       "[{" + not_ready +
           R"(,"operator":"Exists","effect":"NoExecute","tolerationSeconds":3600},{)" +
           unreachable + R"(,"operator":"Exists","effect":"NoExecute","tolerationSeconds":7200}])",
       {{kNotReadyKey, "3600"}, {kUnreachableKey, "7200"}}},
      {"without an end",
       "[{" + not_ready + R"(,"operator":"Exists"}])",
       {{kNotReadyKey, "always"}}},
      {"the value of a taint that has none", "[{" + not_ready + "}]", {{kNotReadyKey, "always"}}},
      {"another value", "[{" + not_ready + R"(,"value":"x"}])", {}},
      {"another effect", "[{" + not_ready + R"(,"operator":"Exists","effect":"NoSchedule"}])", {}},
      {"no key", R"([{"operator":"Exists"}])", {}},
      {"another key", R"([{"key":"gpu","operator":"Exists"}])", {}},
      {"the first of two counts",
       "[{" + unreachable + R"(,"effect":"NoExecute","tolerationSeconds":5},{)" + unreachable +
           R"(,"operator":"Exists"}])",
       {{kUnreachableKey, "5"}}},
      {"less than nothing",
       "[{" + not_ready + R"(,"effect":"NoExecute","tolerationSeconds":-5}])",
       {{kNotReadyKey, "0"}}},
      {"not a list", R"({"key":"x"})", {}},
  }));
  INFO(row.when);
  CHECK(outage_annotations(*kube::parse_json(row.tolerations)) == row.kept);
}

TEST_CASE("the pod filter keeps what a template tolerates", "[gang][outage]") {
  const auto keys = with_slot_annotations({}).annotation_keys;
  for (const char* key : {kNotReadyKey, kUnreachableKey}) {
    CHECK(std::count(keys.begin(), keys.end(), key) == 1);
  }
}

}  // namespace
}  // namespace nervex::gang
