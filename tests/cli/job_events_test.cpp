#include "cli/jobs/job_events.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/names.h"
#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

using view::at;

Json an_event(const std::string& kind, const std::string& name, const std::string& uid,
              const std::string& time = "2026-11-21T14:01:00Z") {
  return {{"involvedObject", {{"kind", kind}, {"name", name}, {"uid", uid}}},
          {"type", "Warning"},
          {"reason", "FailedCreate"},
          {"message", "no"},
          {"lastTimestamp", time},
          {"count", 2}};
}

TEST_CASE("events of the job, its PodGroups and its pods are about it", "[cli][events]") {
  const job::Job job = view::a_snapshot(job::Phase::kCreated).job;
  const std::string pod = job::pod_name(job, job::Role::kLearner, {1, 0});
  struct Row {
    std::string when;
    Json event;
    std::string want;  // object; "": about something else
  };
  const std::vector<Row> rows = {
      {"the job", an_event("NerveXJob", "dqn", job.meta.uid), "nervexjob/dqn"},
      {"an earlier job of the name", an_event("NerveXJob", "dqn", "another"), ""},
      {"its PodGroup", an_event("PodGroup", "dqn-1", "x"), "podgroup/dqn-1"},
      {"another job's PodGroup", an_event("PodGroup", "dqn-big-1", "x"), ""},
      {"its coordinator", an_event("Pod", "dqn-coordinator", "x"), "pod/dqn-coordinator"},
      {"its learner", an_event("Pod", pod, "x"), "pod/" + pod},
      {"a pod of another job", an_event("Pod", "dqn-big-coordinator", "x"), ""},
      {"a pod from before its creation",
       an_event("Pod", "dqn-coordinator", "x", "2026-11-21T13:59:59Z"), ""},
      {"another kind", an_event("Service", "dqn-coordinator", "x"), ""}};
  for (const auto& row : rows) {
    INFO(row.when);
    const auto event = decode_job_event(job, row.event);
    CHECK((event ? event->object : "") == row.want);
  }
}

TEST_CASE("a line of events has the number of occurrences", "[cli][events]") {
  const job::Job job = view::a_snapshot(job::Phase::kCreated).job;
  const auto event = decode_job_event(job, an_event("NerveXJob", "dqn", job.meta.uid));
  REQUIRE(event);
  CHECK(event_cells(*event, at("2026-11-21T14:05:00Z"), Paint(false)) ==
        std::vector<std::string>{"4m", "Warning", "FailedCreate", "nervexjob/dqn", "no (x2)"});
  CHECK(to_json(*event).at("time") == "2026-11-21T14:01:00Z");
}

}  // namespace
}  // namespace nervex::cli
