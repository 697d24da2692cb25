#include "controller/observe/kept_templates.h"

#include <string>

#include <catch2/catch_test_macros.hpp>

#include "controller/observe/observe.h"
#include "job/kept.h"
#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::ControllerCluster;
using testing::kJobKey;

job::Job a_packed_job(const std::string& ns, const std::string& name, std::size_t bytes,
                      const std::string& uid = "") {
  job::Job job = testing::a_job(0, 0);
  job.meta.ns = ns;
  job.meta.name = name;
  job.meta.uid = uid.empty() ? ns + "-" + name : uid;
  job.spec = {};
  job.spec.coordinator_template = Json{{"x", std::string(bytes - 10, 'x')}};  // and volumes: []
  return job::packed(job);
}

// A store of jobs with budgets of 100 bytes for all and 40 for a namespace.
struct SmallBudgets {
  kube::Store<job::Job> jobs;
  KeptTemplates templates{jobs, 100, 40};
  int version = 0;

  // A version of the job is read. Its templates are kept, or would be if the store took it.
  bool keeps(const char* ns, const char* name, std::size_t bytes, const char* uid = "") {
    job::Job job = a_packed_job(ns, name, bytes, uid);
    job.meta.resource_version = std::to_string(++version);
    REQUIRE(job::template_bytes(job) == bytes);
    const job::Job kept = templates.fit(job);
    CHECK(job::template_bytes(kept) == bytes);
    const bool is_kept = kept.left_out_bytes == 0;
    CHECK(kept.spec.coordinator_template.is_packed() == is_kept);
    jobs.exchange(kept.meta.key(), kept);
    templates.recount(kept.meta);
    return is_kept;
  }
  // The API server has confirmed that the job was deleted.
  void forget(const char* ns, const char* name) {
    const kube::Meta meta = a_packed_job(ns, name, 10).meta;
    jobs.forget(meta.key(), meta.uid);
    templates.recount(meta);
  }
};

TEST_CASE("templates beyond a namespace's budget, or that of all, are left out",
          "[controller][memory]") {
  SmallBudgets c;
  CHECK(c.keeps("a", "one", 30));
  CHECK_FALSE(c.keeps("a", "two", 11));
  CHECK(c.keeps("a", "three", 10));
  CHECK(c.keeps("b", "one", 40));
  CHECK_FALSE(c.keeps("c", "large", 41));
  CHECK(c.keeps("c", "one", 20));
  CHECK_FALSE(c.keeps("d", "one", 10));  // all together
  SECTION("a version replaces the one before") {
    CHECK(c.keeps("a", "one", 20));
    CHECK(c.keeps("d", "one", 10));
    CHECK_FALSE(c.keeps("a", "one", 31));
    CHECK(c.keeps("d", "two", 20));
  }
  SECTION("a deleted job makes space, once") {
    c.forget("b", "one");
    c.forget("b", "one");
    CHECK(c.keeps("d", "one", 40));
    CHECK_FALSE(c.keeps("b", "two", 10));
  }
  SECTION("a job of the same name still counts") {
    CHECK(c.keeps("a", "one", 30, "another"));
    c.forget("a", "one");
    CHECK_FALSE(c.keeps("a", "two", 11));
  }
  SECTION("what is read of a deleted job does not count") {
    c.forget("b", "one");
    CHECK(c.keeps("b", "one", 40));  // a late event, which the store ignores
    CHECK(c.keeps("b", "one", 30, "successor"));
    CHECK(c.keeps("b", "one", 40));
    CHECK(c.keeps("d", "one", 10));
    CHECK_FALSE(c.keeps("d", "two", 1 + 10));
  }
}

// The cache keeps no templates of the job: its namespace has no budget left.
struct WithoutTemplates : ControllerCluster {
  void leave_out() {
    sync();
    auto& jobs = controller->stores.jobs;
    const auto job = jobs.get(kJobKey);
    if (!job) return;
    jobs.erase(kJobKey);  // the same version is not stored again
    jobs.put(kJobKey, job::left_out(job::packed(*job)));
    REQUIRE(jobs.get(kJobKey)->left_out_bytes > 0);
  }
  void work() {
    for (int round = 0; round < 10; ++round) {
      leave_out();
      controller->worker.process(kJobKey);
    }
  }
};

TEST_CASE("a job without templates in the cache is reconciled as others", "[controller][memory]") {
  WithoutTemplates cluster;
  cluster.create_job(2, 1);
  cluster.work();
  cluster.plan();
  cluster.work();
  CHECK(cluster.names(kube::kPods).size() == 4);
  cluster.run_pods();
  cluster.work();
  CHECK(cluster.job().status.phase == job::Phase::kRunning);
  const Json pod = cluster.api.list(kube::kPods).front();
  CHECK(kube::array_at(pod, {"spec", "containers"}).size() == 1);

  SECTION("nothing is decided about a job that the cache still has after its end") {
    cluster.leave_out();
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    const auto cached = cluster.controller->stores.jobs.get(kJobKey);
    const auto read = read_templates(cluster.api, cluster.controller->stores, cached);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kTransient);
    CHECK(cluster.controller->worker.process(kJobKey) == Outcome::kError);
  }
}

}  // namespace
}  // namespace nervex::controller
