#include "controller/decide/attempt.h"

#include <catch2/catch_test_macros.hpp>

#include "controller/decide/conditions.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::a_job;

job::Job a_job_with_requests() {
  job::Job job = a_job(0, 0);
  job.spec.requests.next_collector = job.status.next_collector = job::kFirstRequestedOrdinal + 2;
  return job;
}

void set_lost(job::Job& job, bool is_lost) {
  job::set_condition(job.status, {std::string(kRequestsLost), is_lost, "Any", "", {}, 1});
}

TEST_CASE("requests that nobody made or that are there are not lost", "[controller][requests]") {
  CHECK_FALSE(requests_lost(a_job()));
  job::Job job = a_job_with_requests();
  CHECK_FALSE(requests_lost(job));
  ++job.spec.requests.next_learner;  // newer than the status
  CHECK_FALSE(requests_lost(job));
}

TEST_CASE("requests are lost when the spec counts fewer than were seen", "[controller][requests]") {
  job::Job job = a_job_with_requests();
  job.spec.requests = {};
  CHECK(requests_lost(job));
}

TEST_CASE("a loss is not undone by the next request", "[controller][requests]") {
  job::Job job = a_job_with_requests();
  set_lost(job, true);
  CHECK(requests_lost(job));
}

TEST_CASE("a loss in an earlier attempt is none of this one", "[controller][requests]") {
  job::Job job = a_job_with_requests();
  job.spec.requests = {};
  set_lost(job, false);
  CHECK_FALSE(requests_lost(job));
}

}  // namespace
}  // namespace nervex::controller
