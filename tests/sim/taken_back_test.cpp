// A permanent refusal by the API server requeues the whole gang, and no other.
#include <catch2/generators/catch_generators_all.hpp>

#include "controller/decide/reasons.h"
#include "job/names.h"
#include "job/slots.h"
#include "tests/sim/seeds.h"

namespace nervex::testing {
namespace {

using job::Phase;

// By name: the uid.
std::map<std::string, std::string> uids(const Suite& suite) {
  std::map<std::string, std::string> uids;
  for (const auto& name : suite.pods()) {
    uids[name] = kube::string_at(suite.pod(name), {"metadata", "uid"});
  }
  return uids;
}

TEST_CASE("a refused pod of a request requeues the rest of that request", "[sim][taken_back]") {
  const unsigned asked = GENERATE(0U, 1U);  // two collectors; a learner of two parts
  const int status = GENERATE(403, 422);
  INFO((asked == 0 ? "collectors, " : "a learner of two parts, ") << status);
  Suite suite(1);
  suite.add_config();
  suite.start();
  const auto base = uids(suite);
  REQUIRE(suite.call_server(asked));
  suite.refuse_pods(asked == 0 ? "collector" : "ddp-learner", status, 1);
  suite.settle();
  CHECK(suite.rules.seen["refused for good"] > 0);
  CHECK(uids(suite) == base);
  CHECK(suite.job().status.attempt == 1);
  CHECK(suite.job().status.phase == Phase::kRunning);
  const job::Status refused = suite.job().status;
  const auto* created = find_condition(refused, controller::kPodsCreated);
  REQUIRE(created != nullptr);
  CHECK_FALSE(created->status);
  INFO(created->message);
  const char* words = status == 403 ? "exceeded quota" : "Invalid value";
  CHECK(created->message.find(words) != std::string::npos);
  // Tried again after a while, whole again, and not more often than the back-off says.
  suite.rules.seen.clear();
  suite.settle();
  CHECK(suite.rules.seen["refused for good"] <= 2);  // a 403 is asked twice
  suite.come_to_rest();
  CHECK(suite.pods().size() == base.size() + (asked == 0 ? 2 : 3));
  check_rules(suite);
}

TEST_CASE("after a refusal no condition contradicts the cluster", "[sim][taken_back]") {
  const std::string refused = GENERATE("collector", "aggregator", "coordinator");
  INFO(refused);
  Suite suite(1);
  suite.add_config();
  suite.refuse_pods(refused);
  suite.settle();
  CHECK(suite.rules.seen["base gang taken back"] >= 1);
  suite.come_to_rest();
  CHECK(suite.job().status.phase == Phase::kRunning);
  CHECK(suite.pods().size() == 5);
  check_rules(suite);
}

}  // namespace
}  // namespace nervex::testing
