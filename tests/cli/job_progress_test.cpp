#include "cli/jobs/job_progress.h"

#include <catch2/catch_test_macros.hpp>

#include "job/types.h"
#include "tests/support/fake_api.h"
#include "tests/support/job_builders.h"

namespace nervex::cli {
namespace {

TEST_CASE("a job's objects are read again only for what matters to its line", "[cli][progress]") {
  testing::FakeApi api;
  const Json created = api.add(kube::kNervexJobs, "rl",
                               {{"metadata", {{"name", "dqn"}}},
                                {"spec", {{"coordinator", {{"template", testing::a_template()}}}}},
                                {"status", {{"phase", "Created"}, {"attempt", 1}}}});
  job::Job job = *job::decode_job(created);
  JobProgress progress(api, "rl", "dqn");
  progress.report(job);
  const int requests = api.requests();
  CHECK(requests > 0);
  CHECK(progress.last_line().starts_with("dqn "));
  job.status.ready = 1;
  progress.report(job);
  CHECK(api.requests() == requests);
  job.status.reason = "Unschedulable";
  progress.report(job);
  CHECK(api.requests() > requests);
}

}  // namespace
}  // namespace nervex::cli
