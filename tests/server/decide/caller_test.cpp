#include "server/decide/caller.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "tests/server/builders.h"

namespace nervex::server {
namespace {

// The parts that a test may break; unchanged, may_grow() is true.
struct World {
  job::Job job = running_job();
  std::optional<kube::Pod> pod = running_pod(job, job::Role::kCoordinator);
  std::optional<gang::PodGroup> group = make_pod_group(job);
  bool job_exists = true;

  Caller caller() const {
    return {pod ? share(*pod) : nullptr, job_exists ? share(job) : nullptr,
            group ? share(*group) : nullptr};
  }
};

}  // namespace

TEST_CASE("a living coordinator of the current attempt may grow its job", "[server][caller]") {
  CHECK(may_grow(World().caller()));
  CHECK(is_known(World().caller()));
}

TEST_CASE("any pod of the job may make its calls", "[server][caller]") {
  World world;
  world.pod = running_pod(world.job, job::Role::kLearner, {4096, 0});
  CHECK(may_grow(world.caller()));
}

TEST_CASE("a refused caller learns whether to retry", "[server][caller]") {
  struct Row {
    std::string when;
    std::function<void(World&)> change;
    Code want;
  };
  const auto row = GENERATE(values<Row>({
      {"the pod does not exist", [](World& w) { w.pod.reset(); }, Code::kNotFound},
      {"the pod has no owner", [](World& w) { w.pod->meta.owner.reset(); }, Code::kNotFound},
      {"the pod belongs to something else",
       [](World& w) {
         w.pod->meta.owner = kube::OwnerRef{"batch/v1", "Job", "dqn", "uid-dqn"};
       },
       Code::kNotFound},
      {"the job was deleted", [](World& w) { w.job_exists = false; }, Code::kConflict},
      {"the job's name was taken by another job", [](World& w) { w.job.meta.uid = "uid-new"; },
       Code::kConflict},
      {"the job is being deleted", [](World& w) { w.job.meta.deleting = true; }, Code::kConflict},
      {"the job has succeeded", [](World& w) { w.job.status.phase = job::Phase::kSucceeded; },
       Code::kConflict},
      {"the job failed", [](World& w) { w.job.status.phase = job::Phase::kFailed; },
       Code::kConflict},
      {"the caller has ended", [](World& w) { w.pod->phase = kube::PodPhase::kSucceeded; },
       Code::kConflict},
      {"the caller is being deleted", [](World& w) { w.pod->meta.deleting = true; },
       Code::kTransient},
      {"the attempt's PodGroup is not there", [](World& w) { w.group.reset(); }, Code::kTransient},
      {"the caller is of an older attempt", [](World& w) { w.group->meta.uid = "uid-dqn-2"; },
       Code::kTransient},
      {"the status names another attempt", [](World& w) { w.job.status.attempt = 2; },
       Code::kTransient},
      {"the caller carries no attempt", [](World& w) { w.pod->meta.annotations.clear(); },
       Code::kTransient},
  }));
  INFO("when " << row.when);
  World world;
  row.change(world);
  const auto may = may_grow(world.caller());
  REQUIRE_FALSE(may);
  CHECK(may.error().code == row.want);
}

TEST_CASE("the error for a missing coordinator explains the job's state", "[server][caller]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&)> change;
    std::string says;
  };
  const auto row = GENERATE(values<Row>({
      {"it waits",
       [](job::Job& job) {
         job.status.phase = job::Phase::kCreated;
         job.status.reason = "Unschedulable";
       },
       "the pod does not exist: nervexjob dqn has no coordinator (Unschedulable)"},
      {"the controller has not seen it yet", [](job::Job& job) { job.status = {}; },
       "the pod does not exist: nervexjob dqn has no coordinator. "},
      {"it has finished", [](job::Job& job) { job.status.phase = job::Phase::kFailed; },
       "the pod does not exist: nervexjob dqn has finished"},
      {"it is being deleted", [](job::Job& job) { job.meta.deleting = true; },
       "the pod does not exist: nervexjob dqn is being deleted"},
  }));
  INFO("when " << row.when);
  World world;
  row.change(world.job);
  const Error error = no_such_pod(&world.job);
  CHECK(error.code == Code::kNotFound);
  CHECK(error.message.find(row.says) != std::string::npos);
  CHECK(no_such_pod(nullptr).message == "the pod does not exist");
}

TEST_CASE("listing works for a pod of a job in any state", "[server][caller]") {
  World world;
  world.job.status.phase = job::Phase::kSucceeded;
  world.pod->meta.deleting = true;
  world.group.reset();
  CHECK(is_known(world.caller()));

  world.job_exists = false;
  const auto known = is_known(world.caller());
  REQUIRE_FALSE(known);
  CHECK(known.error().code == Code::kNotFound);
}

}  // namespace nervex::server
