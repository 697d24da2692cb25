#include "job/schema/schema_check.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/job/schema/samples.h"

namespace nervex::job {
namespace {

using testing::a_job;
using testing::job_check;
using testing::job_with;
using testing::with_odd_parts;

constexpr const char* kMain = "/spec/coordinator/template/spec/containers/0";

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> result;
  for (const auto& error : errors) result.push_back(to_string(error));
  return result;
}

using Texts = std::vector<std::string>;

// "containers" of "unknown field `contaniers`, did you mean `containers`?"; "" if it does not
// guess.
std::string name_guessed(const std::string& detail) {
  const std::string_view start = "did you mean `";
  const auto at = detail.find(start);
  if (at == std::string::npos) return "";
  const auto begin = at + start.size();
  return detail.substr(begin, detail.find('`', begin) - begin);
}

}  // namespace

TEST_CASE("the schema check names every field that breaks the schema", "[job][schema]") {
  const std::string coordinator = "spec.coordinator.template.spec.containers[0]";
  struct Row {
    std::string when;
    std::string patch;  // JSON Patch; @ stands for the coordinator's container
    Texts want;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is wrong", "[]", {}},
      {"a field is misspelt",
       R"([{"op": "move", "from": "/spec/coordinator/template/spec/containers",
            "path": "/spec/coordinator/template/spec/contaniers"}])",
       {"spec.coordinator.template.spec.contaniers: Forbidden: unknown field `contaniers`, did you "
        "mean `containers`?"}},
      {"fields stand one level too high",
       R"([{"op": "add", "path": "/spec/coordinator/template/containers", "value": []},
           {"op": "add", "path": "/spec/coordinator/template/spec/command", "value": ["x"]},
           {"op": "add", "path": "/spec/coordinator/template/spec/runAsUser", "value": 0},
           {"op": "add", "path": "@/resources/nvidia.com~1gpu", "value": 1},
           {"op": "add", "path": "/spec/volumes/0/sizeLimit", "value": "1Gi"}])",
       {"spec.coordinator.template.containers: Forbidden: unknown field `containers`: it belongs "
        "at template.spec.containers",
        "spec.coordinator.template.spec.command: Forbidden: unknown field `command`: it belongs at "
        "template.spec.containers[].command",
        "spec.coordinator.template.spec.containers[0].resources.nvidia.com/gpu: Forbidden: unknown "
        "field `nvidia.com/gpu`: it belongs at "
        "template.spec.containers[0].resources.limits[nvidia.com/gpu]",
        "spec.coordinator.template.spec.runAsUser: Forbidden: unknown field `runAsUser`: it "
        "belongs at template.spec.securityContext.runAsUser",
        "spec.volumes[0].sizeLimit: Forbidden: unknown field `sizeLimit`: it belongs at "
        "spec.volumes[0].emptyDir.sizeLimit"}},
      {"fields stand one level too low",
       R"([{"op": "add", "path": "@/volumes", "value": []},
           {"op": "add", "path": "@/ports/0/image", "value": "i"}])",
       {"spec.coordinator.template.spec.containers[0].ports[0].image: Forbidden: unknown field "
        "`image`: it belongs at template.spec.containers[0].image",
        "spec.coordinator.template.spec.containers[0].volumes: Forbidden: unknown field `volumes`: "
        "it belongs at template.spec.volumes"}},
      {"several parts could have the field",
       R"([{"op": "add", "path": "/spec/volumes/0/path", "value": "/data"}])",
       {"spec.volumes[0].path: Forbidden: unknown field `path`"}},
      {"a newer CRD has fields that this check does not know",
       R"([{"op": "add", "path": "/spec/queue", "value": "q"},
           {"op": "add", "path": "/spec/collector/spread", "value": {"over": 3}},
           {"op": "add", "path": "/spec/coordinator/spread", "value": null},
           {"op": "add", "path": "/shape", "value": 1}])",
       {}},
      {"what programs write is not as this check knows it",
       R"([{"op": "add", "path": "/status", "value": {"attempt": "x", "phase": 7, "new": []}},
           {"op": "add", "path": "/spec/requests", "value": {"entries": {"a": 1}, "nextId": "x"}}])",
       {}},
      {"fields are null, as Go programs write them",
       R"([{"op": "add", "path": "@/resources", "value": null},
           {"op": "add", "path": "/spec/learner", "value": null}])",
       {}},
      {"a required field is null",
       R"([{"op": "add", "path": "/spec/coordinator/template", "value": null}])",
       {"spec.coordinator.template: Required value"}},
      {"types are wrong",
       R"([{"op": "add", "path": "@/image", "value": 7},
           {"op": "add", "path": "@/ports/0/containerPort", "value": "80"},
           {"op": "add", "path": "/spec/reservationSeconds", "value": "soon"}])",
       {"spec.coordinator.template.spec.containers[0].image: Invalid value: 7: must be a string: "
        "write it in quotes",
        R"(spec.coordinator.template.spec.containers[0].ports[0].containerPort: Invalid value: "80": must be an integer: write it without quotes)",
        R"(spec.reservationSeconds: Invalid value: "soon": must be an integer)"}},
      {"what is true stands in quotes",
       R"([{"op": "add", "path": "/spec/suspend", "value": "true"}])",
       {R"(spec.suspend: Invalid value: "true": must be a boolean: write it without quotes)"}},
      {"lists and objects are mixed up",
       R"([{"op": "add", "path": "@/env", "value": {"A": "1"}},
           {"op": "add", "path": "/spec/volumes/0", "value": "data"}])",
       {"spec.coordinator.template.spec.containers[0].env: Invalid value: {...}: must be a list",
        R"(spec.volumes[0]: Invalid value: "data": must be an object)"}},
      {"an item of a list is null",
       R"([{"op": "add", "path": "@/env/0", "value": null}])",
       {"spec.coordinator.template.spec.containers[0].env[0]: Invalid value: null: must be an "
        "object"}},
      {"keys of maps are named in brackets",
       R"([{"op": "add", "path": "@/resources/limits/nvidia.com~1gpu", "value": true},
           {"op": "add", "path": "/spec/coordinator/template/metadata/labels/app", "value": 1}])",
       {"spec.coordinator.template.metadata.labels[app]: Invalid value: 1: must be a string: write "
        "it in quotes",
        "spec.coordinator.template.spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid "
        "value: true: must be a string or a number"}},
      {"a value is not among those allowed",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/restartPolicy",
            "value": "Sometimes"}])",
       {R"(spec.coordinator.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure")"}},
      {"a choice is left empty, which the API server reads as not made",
       R"([{"op": "add", "path": "@/imagePullPolicy", "value": ""}])",
       {}},
      {"integers are too large for their type",
       R"([{"op": "add", "path": "@/ports/0/containerPort", "value": 4294967376},
           {"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 18446744073709551615}])",
       {"spec.activeDeadlineSeconds: Invalid value: 18446744073709551615: must be a 64-bit integer",
        "spec.coordinator.template.spec.containers[0].ports[0].containerPort: Invalid value: "
        "4294967376: must be a 32-bit integer"}},
      {"a volume has an unknown source",
       R"([{"op": "add", "path": "/spec/volumes/0/emptydir", "value": {}}])",
       {"spec.volumes[0].emptydir: Forbidden: unknown field `emptydir`, did you mean `emptyDir`?"}},
      {"what a field of Kubernetes needs is not there: rules tell of what cannot be 0 or empty",
       R"([{"op": "add", "path": "/spec/volumes/-", "value": {"iscsi": {}}},
           {"op": "add", "path": "@/ports/0", "value": {}}])",
       {}},
      {"there is no spec", R"([{"op": "remove", "path": "/spec"}])", {"spec: Required value"}},
      {"the spec is a list",
       R"([{"op": "add", "path": "/spec", "value": []}])",
       {"spec: Invalid value: []: must be an object"}},
      {"a text is too long",
       R"([{"op": "add", "path": "/spec/priorityClassName", "value": ")" + std::string(254, 'x') +
           R"("}])",
       {"spec.priorityClassName: Invalid value: \"" + std::string(97, 'x') +
        "...\": String should be no more than 253 characters in length."}},
  }));
  INFO("when " << row.when);
  std::string patch = row.patch;
  for (auto at = patch.find('@'); at != std::string::npos; at = patch.find('@')) {
    patch.replace(at, 1, kMain);
  }
  CHECK(texts(job_check()->find_errors(job_with(patch))) == row.want);
}

TEST_CASE("an unknown field is reported with the known name closest to it, if one is close",
          "[job][schema]") {
  const auto check = SchemaCheck::compile(Json::parse(R"({"type": "object", "properties": {
    "args": {}, "command": {}, "containers": {}, "env": {}, "envFrom": {}, "image": {}}})"));
  REQUIRE(check);
  struct Row {
    std::string when;
    std::string name;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"two letters are swapped", "contaniers", "containers"},
      {"a letter is missing", "comand", "command"},
      {"there is one too many", "imagee", "image"},
      {"only the case differs", "ENVFROM", "envFrom"},
      {"a short name has one slip", "evn", "env"},
      {"two names are equally close", "erv", "env"},
      {"nothing is close", "nodeSelector", ""},
      {"it is empty", "", ""},
      {"it is huge", std::string(100'000, 'a'), ""},
  }));
  INFO("when " << row.when);
  const auto errors = (*check)->find_errors(Json{{row.name, 1}});
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].detail.starts_with("unknown field `"));
  CHECK(name_guessed(errors[0].detail) == row.want);
}

TEST_CASE("the schema check survives any type at any place", "[job][schema][property]") {
  with_odd_parts(a_job(), [](const Json& changed) {
    for (const auto& error : job_check()->find_errors(changed)) CHECK_FALSE(error.field.empty());
  });
}

TEST_CASE("a report on a hostile job stays small", "[job][schema]") {
  Json job = a_job();
  Json& containers = job["spec"]["coordinator"]["template"]["spec"]["containers"];
  SECTION("wrong items at the beginning") {
    containers = Json(Json::array_t(200'000, Json(1)));
    const auto errors = job_check()->find_errors(job);
    CHECK(errors.size() < 20'000);
    CHECK(errors.size() > job::kMaxListedErrors);
  }
  SECTION("a wrong item far behind") {
    containers[0]["args"] = Json(Json::array_t(200'000, Json("x")));
    containers[0]["args"].push_back(1);
    CHECK(
        texts(job_check()->find_errors(job)) ==
        Texts{
            "spec: Invalid value: {...}: breaks its schema, beyond the first 10000 values or below "
            "a very long key"});
  }
  SECTION("a wrong value before the cut and one behind it: the first one is named") {
    job["spec"]["collector"]["template"]["spec"]["hostNetwork"] = "yes";
    containers[0]["args"] = Json(Json::array_t(200'000, Json("x")));
    containers[0]["args"].push_back(1);
    CHECK(
        texts(job_check()->find_errors(job)) ==
        Texts{
            R"(spec.collector.template.spec.hostNetwork: Invalid value: "yes": must be a boolean)"});
  }
  SECTION("a wrong value below a very long key") {
    containers[0]["resources"]["limits"][std::string(400, 'k')] = true;
    CHECK(texts(job_check()->find_errors(job)) ==
          Texts{"spec: Invalid value: {...}: breaks its schema, beyond the first 10000 values or "
                "below a very long key"});
  }
  SECTION("unknown fields") {
    for (int i = 0; i < 5000; ++i) containers[0]["x" + std::to_string(i)] = 1;
    CHECK(job_check()->find_errors(job).size() == job::kMaxErrors);
  }
}

}  // namespace nervex::job
