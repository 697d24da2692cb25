// tests/fuzz/admission.h - what do the admission targets share?
#pragma once

#include <memory>

#include "job/schema/job_schema.h"
#include "kube/model/json.h"
#include "schemas/schemas.h"
#include "tests/fuzz/require.h"

namespace nervex::testing {

inline std::shared_ptr<const job::SchemaCheck> job_check() {
  static const auto kCheck = [] {
    const auto made = job::make_job_check(schemas::nervex_job(), schemas::pod_template());
    require(made.has_value(), "the OpenAPI document is usable");
    return *made;
  }();
  return kCheck;
}

}  // namespace nervex::testing
