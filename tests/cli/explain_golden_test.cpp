// `nervexctl explain` on recorded objects, as text and as JSON. tests/sdk/explain_test.py compares
// what the Python package says of the same objects. NERVEX_RENEW_GOLDEN=1 writes both again.
#include <cstdlib>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "cli/jobs/explain.h"
#include "cli/jobs/job_events.h"
#include "gang/slot.h"
#include "job/counts.h"
#include "tests/support/golden.h"
#include "view/json.h"

namespace nervex::cli {
namespace {

template <typename T>
T require(Result<T> result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *std::move(result);
}

view::JobSnapshot read_snapshot(const Json& given) {
  view::JobSnapshot seen;
  seen.now = require(parse_rfc3339(kube::string_at(given, {"now"})));
  seen.job = require(job::decode_job(given["job"]));
  if (!given["podGroup"].is_null()) seen.group = require(gang::decode_pod_group(given["podGroup"]));
  for (const Json& pod : given["pods"]) {
    seen.pods.push_back(
        require(kube::decode_pod(pod.dump(), gang::with_slot_annotations(job::pod_filter()))));
  }
  for (const Json& event : given["events"]) seen.events.push_back(decode_event(event));
  for (const Json& budget : given["budgets"]) seen.budgets.push_back(view::decode_budget(budget));
  for (const Json& group : kube::array_at(given, {"others"})) {
    seen.others.push_back(require(gang::decode_pod_group(group)));
  }
  return seen;
}

std::string expect(const std::string& name, const std::string& text) {
  if (std::getenv("NERVEX_RENEW_GOLDEN") != nullptr) {
    std::ofstream(std::string(NERVEX_SOURCE_DIR "/tests/golden/") + name) << text;
  }
  return testing::golden(name);
}

}  // namespace

TEST_CASE("recorded jobs are explained, as text and as JSON", "[cli][explain][golden]") {
  const std::string name = GENERATE(as<std::string>{}, "failed", "removed", "reserved-nodes",
                                    "reserving", "running", "unobserved", "waiting");
  INFO(name);
  const view::JobView job =
      view::summarize(read_snapshot(Json::parse(testing::golden("explain/" + name + ".json"))));
  const std::string text = explain(job);
  const std::string json = to_json(job).dump(1) + "\n";
  CHECK(text == expect("explain/" + name + ".txt", text));
  CHECK(json == expect("explain/" + name + ".view.json", json));
}

}  // namespace nervex::cli
