#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "job/validate.h"

namespace nervex::job {
namespace {

using Messages = std::vector<std::string>;

// A job with all roles whose coordinator is in this phase.
Json job_in(const std::string& phase = "Running") {
  Json job = Json::parse(R"({
    "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob",
    "metadata": {"name": "dqn"},
    "spec": {
      "cleanPodPolicy": "Running", "volumes": [{"name": "data", "emptyDir": {}}],
      "coordinator": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}},
      "collector": {"replicas": 1, "template": {
        "metadata": {"creationTimestamp": null},
        "spec": {"containers": [{"name": "main", "image": "i"}]}}},
      "learner": {"replicas": 1, "template": {"spec": {"containers": [
        {"name": "main", "image": "i"}]}}}
    }})");
  job["status"]["phase"] = phase;
  return job;
}

Json edited(const Json& job, const std::string& patch) { return job.patch(Json::parse(patch)); }

Messages messages(const FieldErrors& errors) {
  Messages result;
  for (const auto& error : errors) result.push_back(to_string(error));
  return result;
}

std::string fixed(const std::string& field) {
  return field + ": Forbidden: " + std::string(kFixedWhileRunning);
}

}  // namespace

TEST_CASE("templates do not change while the job runs", "[job][validate][update]") {
  struct Row {
    std::string when;
    std::string patch;
    Messages want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changes", "[]", {}},
      {"the number of replicas changes",
       R"([{"op": "replace", "path": "/spec/learner/replicas", "value": 0},
           {"op": "add", "path": "/spec/learner/reservedReplicas", "value": 2},
           {"op": "add", "path": "/spec/learner/maxReplicas", "value": 3}])",
       {}},
      {"limits, clean-up and retries change",
       R"([{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 60},
           {"op": "add", "path": "/spec/backoffLimit", "value": 2},
           {"op": "replace", "path": "/spec/cleanPodPolicy", "value": "All"}])",
       {}},
      {"a null stands where nothing was, or the other way",
       R"([{"op": "add", "path": "/spec/coordinator/template/metadata", "value": null},
           {"op": "remove", "path": "/spec/collector/template/metadata/creationTimestamp"}])",
       {}},
      {"an image changes",
       R"([{"op": "replace", "path": "/spec/learner/template/spec/containers/0/image", "value": "j"}])",
       {fixed("spec.learner.template")}},
      {"a field of a template comes",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/hostNetwork", "value": true}])",
       {fixed("spec.coordinator.template")}},
      {"a volume comes",
       R"([{"op": "add", "path": "/spec/volumes/-", "value": {"name": "more"}}])",
       {fixed("spec.volumes")}},
      {"the volumes go", R"([{"op": "remove", "path": "/spec/volumes"}])", {fixed("spec.volumes")}},
      {"a role goes",
       R"([{"op": "remove", "path": "/spec/learner"}])",
       {"spec.learner.template: Forbidden: may not be removed while the job runs: set "
        "spec.learner.replicas to 0 to delete the role's pods, or suspend the job first"}},
      {"an image changes, and the job is suspended",
       R"([{"op": "replace", "path": "/spec/learner/template/spec/containers/0/image", "value": "j"},
           {"op": "add", "path": "/spec/suspend", "value": true}])",
       {}},
  }));
  INFO("when " << row.when);
  CHECK(messages(check_update(edited(job_in(), row.patch), job_in())) == row.want);
}

TEST_CASE("topologies and node classes do not change while the job runs",
          "[job][validate][update]") {
  struct Row {
    std::string when;
    std::string patch;
    Messages want;
  };
  Json job = job_in();
  job["spec"]["topology"] = {{"level", "zone"}, {"policy", "Required"}};
  job["spec"]["learner"]["topology"] = {{"level", "rack"}, {"policy", "Preferred"}};
  job["spec"]["learner"]["nodeClasses"] = {"h100", "a100"};
  const auto row = GENERATE(values<Row>({
      {"nothing changes", "[]", {}},
      {"the default is left out",
       R"([{"op": "remove", "path": "/spec/topology/policy"},
           {"op": "add", "path": "/spec/collector/nodeClasses", "value": []}])",
       {}},
      {"a level changes",
       R"([{"op": "replace", "path": "/spec/topology/level", "value": "host"}])",
       {fixed("spec.topology")}},
      {"a policy changes",
       R"([{"op": "remove", "path": "/spec/learner/topology/policy"}])",
       {fixed("spec.learner.topology")}},
      {"topologies come and go",
       R"([{"op": "remove", "path": "/spec/topology"},
           {"op": "add", "path": "/spec/collector/topology", "value": {"level": "zone"}}])",
       {fixed("spec.topology"), fixed("spec.collector.topology")}},
      {"the order of classes changes",
       R"([{"op": "replace", "path": "/spec/learner/nodeClasses", "value": ["a100", "h100"]}])",
       {fixed("spec.learner.nodeClasses")}},
      {"classes come and go",
       R"([{"op": "remove", "path": "/spec/learner/nodeClasses"},
           {"op": "add", "path": "/spec/collector/nodeClasses", "value": ["a100"]}])",
       {fixed("spec.collector.nodeClasses"), fixed("spec.learner.nodeClasses")}},
      {"a role goes",
       R"([{"op": "remove", "path": "/spec/learner"}])",
       {"spec.learner.template: Forbidden: may not be removed while the job runs: set "
        "spec.learner.replicas to 0 to delete the role's pods, or suspend the job first"}},
      {"they change, and the job is suspended",
       R"([{"op": "remove", "path": "/spec/topology"},
           {"op": "remove", "path": "/spec/learner/nodeClasses"},
           {"op": "add", "path": "/spec/suspend", "value": true}])",
       {}},
  }));
  INFO("when " << row.when);
  CHECK(messages(check_update(edited(job, row.patch), job)) == row.want);
}

TEST_CASE("a role that is added to a running job brings its topology and node classes",
          "[job][validate][update]") {
  Json serial = job_in();
  serial["spec"]["learner"] = Json::object();
  Json job = job_in();
  job["spec"]["learner"]["topology"] = {{"level", "rack"}};
  job["spec"]["learner"]["nodeClasses"] = {"h100"};
  CHECK(check_update(job, serial).empty());
}

TEST_CASE("templates do not change while pods are being created", "[job][validate][update]") {
  Json job = job_in("Created");
  const std::string image = R"([{"op": "replace", "value": "j",
                                 "path": "/spec/learner/template/spec/containers/0/image"}])";
  job["status"]["reason"] = "Starting";
  CHECK(messages(check_update(edited(job, image), job)) ==
        Messages{fixed("spec.learner.template")});
  job["status"]["reason"] = GENERATE("Queued", "FailedCreate", "Suspended");
  CHECK(check_update(edited(job, image), job).empty());
}

TEST_CASE("suspend cannot be set to false before the attempt has ended",
          "[job][validate][update]") {
  const std::string resume = R"([{"op": "replace", "path": "/spec/suspend", "value": false}])";
  const std::string image = R"([{"op": "replace", "value": "j",
                                 "path": "/spec/learner/template/spec/containers/0/image"}])";
  Json running = job_in();
  running["spec"]["suspend"] = true;  // the controller has not looked yet
  const Messages too_soon{
      "spec.suspend: Forbidden: may not be set to false before the controller has suspended the "
      "job: wait for its condition Suspended"};
  CHECK(messages(check_update(edited(running, resume), running)) == too_soon);
  CHECK(messages(check_update(edited(running, R"([{"op": "remove", "path": "/spec/suspend"}])"),
                              running)) == too_soon);
  CHECK(check_update(edited(running, image), running).empty());  // all its pods are deleted

  Json suspended = running;
  suspended["status"]["phase"] = "Created";  // as the controller leaves it
  CHECK(check_update(edited(suspended, resume), suspended).empty());
}

TEST_CASE("a role may be added while the job runs", "[job][validate][update]") {
  Json serial = job_in();
  serial["spec"].erase("learner");
  CHECK(check_update(job_in(), serial).empty());
}

TEST_CASE("a job that does not run may change completely", "[job][validate][update]") {
  const Json job = job_in(GENERATE("", "Created", "Succeeded", "Failed"));
  CHECK(check_update(edited(job, R"([{"op": "remove", "path": "/spec/learner"},
                                      {"op": "remove", "path": "/spec/volumes"}])"),
                     job)
            .empty());
}

TEST_CASE("objects of any shape are compared", "[job][validate][update]") {
  const Json shape = GENERATE(Json(nullptr), Json::array(), Json(5),
                              Json({{"spec", Json::array({1})}, {"status", "Running"}}),
                              Json({{"status", {{"phase", "Running"}}}, {"spec", 7}}));
  CHECK(check_update(shape, shape).empty());
  check_update(shape, job_in());
  check_update(job_in(), shape);
}

TEST_CASE("an update is not refused for stored errors", "[job][validate][update]") {
  struct Row {
    std::string when;
    std::string stored;  // what makes the stored job wrong
    std::string change;
    Messages want;
  };
  const std::string no_image =
      R"([{"op": "remove", "path": "/spec/learner/template/spec/containers/0/image"}])";
  const auto row = GENERATE_COPY(values<Row>({
      {"something else changes",
       no_image,
       R"([{"op": "add", "path": "/spec/suspend", "value": true}])",
       {}},
      {"the wrong item moves in its list",
       no_image,
       R"([{"op": "add", "path": "/spec/learner/template/spec/containers/0",
            "value": {"name": "sidecar", "image": "i"}}])",
       {}},
      {"the wrong item moves, and the new one is wrong in the same way",
       no_image,
       R"([{"op": "add", "path": "/spec/learner/template/spec/containers/0",
            "value": {"name": "sidecar"}}])",
       {"spec.learner.template.spec.containers[0].image: Required value"}},
      {"the same is wrong in another place",
       no_image,
       R"([{"op": "remove", "path": "/spec/collector/template/spec/containers/0/image"}])",
       {"spec.collector.template.spec.containers[0].image: Required value"}},
      {"the wrong value becomes another wrong one",
       R"([{"op": "replace", "path": "/spec/cleanPodPolicy", "value": "hello"}])",
       R"([{"op": "replace", "path": "/spec/cleanPodPolicy", "value": "world"}])",
       {R"(spec.cleanPodPolicy: Unsupported value: "world": supported values: "All", "None", )"
        R"("Running" (Invalid CleanPodPolicy))"}},
      {"the wrong item moves, and so does the one that its message names by its place",
       R"([{"op": "add", "path": "/spec/learner/template/spec/hostNetwork", "value": true},
           {"op": "add", "path": "/spec/learner/template/spec/containers/0",
            "value": {"name": "sidecar", "image": "i",
                      "ports": [{"containerPort": 22271, "hostPort": 22271}]}},
           {"op": "replace", "path": "/spec/learner/template/spec/containers/1/name",
            "value": "nervex-container"}])",
       R"([{"op": "add", "path": "/spec/learner/template/spec/containers/0",
            "value": {"name": "proxy", "image": "i"}}])",
       {}},
      {"a name that stands twice comes a third time",
       R"([{"op": "add", "path": "/spec/volumes/-", "value": {"name": "data"}}])",
       R"([{"op": "add", "path": "/spec/volumes/-", "value": {"name": "data"}}])",
       {R"(spec.volumes[2].name: Duplicate value: "data")"}},
      {"the wrong value goes",
       R"([{"op": "replace", "path": "/spec/cleanPodPolicy", "value": "hello"}])",
       R"([{"op": "remove", "path": "/spec/cleanPodPolicy"}])",
       {}},
  }));
  INFO("when " << row.when);
  const Json stored = edited(job_in(), row.stored);
  const Json sent = edited(stored, row.change);
  REQUIRE_FALSE(validate_job(stored).empty());
  CHECK(messages(without_stored_errors(validate_job(sent), sent, validate_job(stored), stored)) ==
        row.want);
}

TEST_CASE("errors are the same if only the indexes of items differ", "[job][validate][update]") {
  struct Row {
    std::string when;
    std::string stored;  // messages of one field
    std::string sent;
    bool is_same;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changes", "conflicts with containers[1]", "conflicts with containers[1]", true},
      {"items come before it", "conflicts with containers[1].ports[0]",
       "conflicts with containers[12].ports[3]", true},
      {"it is another item's", "conflicts with containers[1]", "conflicts with volumes[1]", false},
      {"a value in quotes has brackets", R"(Invalid value: "a[1]": bad)",
       R"(Invalid value: "a[2]": bad)", false},
      {"a quote within the value", R"(Invalid value: "\"a[1]": bad)",
       R"(Invalid value: "\"a[2]": bad)", false},
      {"a place stands behind a value in quotes", R"(Invalid value: "a": as in items[1])",
       R"(Invalid value: "a": as in items[2])", true},
      {"a field in quotes moves", R"(unknown field "spec.containers[0].x")",
       R"(unknown field "spec.containers[1].x")", true},
      {"brackets hold a key", "see limits[cpu]", "see limits[memory]", false},
      {"a value without quotes is a list", "Invalid value: [1]", "Invalid value: [2]", false},
      {"a bracket is open", "see items[1", "see items[2", false},
      {"a number changes", "must be above 1", "must be above 2", false},
  }));
  INFO("when " << row.when);
  const auto error = [](const std::string& words) {
    FieldError made{FieldErrorType::kInvalid, "spec.learner.template", "", ""};
    made.words = words;
    return FieldErrors{made};
  };
  const Json job = job_in();
  CHECK(without_stored_errors(error(row.sent), job, error(row.stored), job).empty() == row.is_same);
}

}  // namespace nervex::job
