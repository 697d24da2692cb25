// tests/job/schema/samples.h - which jobs and schemas do schema and webhook tests share?
#pragma once

#include <array>
#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "job/schema/job_schema.h"
#include "kube/model/json.h"
#include "schemas/schemas.h"

namespace nervex::testing {

inline std::shared_ptr<const job::SchemaCheck> job_check() {
  static const auto check = job::make_job_check(schemas::nervex_job(), schemas::pod_template());
  REQUIRE(check.has_value());
  return *check;
}

// As kubectl would create it: complete and valid.
inline Json a_job() {
  return Json::parse(R"({
    "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob",
    "metadata": {"name": "dqn", "namespace": "rl", "creationTimestamp": null},
    "spec": {
      "group": "g",
      "cleanPodPolicy": "Running",
      "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}],
      "coordinator": {"template": {
        "metadata": {"creationTimestamp": null, "labels": {"app": "dqn"}},
        "spec": {"containers": [{
          "name": "nervex-container", "image": "i",
          "ports": [{"name": "nervex-port", "containerPort": 80}],
          "env": [{"name": "A", "value": "1"}],
          "resources": {"limits": {"cpu": 1, "nvidia.com/gpu": "1"}},
          "livenessProbe": {"httpGet": {"port": "nervex-port"}}
        }]}}},
      "collector": {"replicas": 1, "template": {
        "spec": {"containers": [{"name": "nervex-container", "image": "i",
                                 "resources": {"requests": {"cpu": 1}}}]}}}
    }})");
}

// Calls use(job) with copies of `job`, each with one part replaced by a value of another type.
template <typename F>
void with_odd_parts(const Json& job, F use) {
  const std::array<Json, 8> odd{
      nullptr, true, -1, 1.5, "x", Json::array(), Json::object(), Json::array({nullptr, 1})};
  const Json flat = job.flatten();
  for (const auto& [path, unused] : flat.items()) {
    for (Json::json_pointer at(path); !at.empty(); at.pop_back()) {
      for (const Json& value : odd) {
        INFO(at.to_string() << " = " << value);
        Json changed = job;
        changed[at] = value;
        use(changed);
      }
    }
  }
}

// a_job() with this JSON Patch applied.
inline Json job_with(const std::string& patch) { return a_job().patch(Json::parse(patch)); }

}  // namespace nervex::testing
