#include "controller/decide/limits.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using std::chrono::seconds;

TEST_CASE("how many attempts may fail follows from the restart policy, if nobody says",
          "[controller][backoff]") {
  struct Row {
    std::string when;
    std::string policy;
    std::optional<int> limit;
    std::optional<int> want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is said", "", std::nullopt, 0},
      {"a container is never restarted", "Never", std::nullopt, 0},
      {"it is restarted in place", "OnFailure", std::nullopt, std::nullopt},
      {"it always is", "Always", std::nullopt, std::nullopt},
      {"the user says", "Never", 3, 3},
      {"the user says, whatever the policy", "Always", 0, 0},
  }));
  INFO("when " << row.when);
  job::Spec spec = testing::a_job().spec;
  if (!row.policy.empty()) spec.coordinator_template["spec"]["restartPolicy"] = row.policy;
  spec.backoff_limit = row.limit;
  CHECK(backoff_limit(spec) == row.want);
}

TEST_CASE("as many attempts are followed by another as backoffLimit says",
          "[controller][backoff]") {
  job::Spec spec = testing::a_job().spec;
  spec.backoff_limit = 2;
  CHECK(may_retry(spec, 1));
  CHECK(may_retry(spec, 2));
  CHECK_FALSE(may_retry(spec, 3));
}

TEST_CASE("the back-off doubles up to six minutes", "[controller][backoff]") {
  CHECK(retry_delay(seconds(10), 1) == seconds(10));
  CHECK(retry_delay(seconds(10), 2) == seconds(20));
  CHECK(retry_delay(seconds(10), 6) == seconds(320));
  CHECK(retry_delay(seconds(10), 7) == seconds(360));
  CHECK(retry_delay(seconds(10), 1'000'000) == seconds(360));
  CHECK(retry_delay(std::chrono::milliseconds(500), 2) == seconds(1));
  CHECK(retry_delay(std::chrono::hours(1), 1) == seconds(360));
}

}  // namespace
}  // namespace nervex::controller
