// tests/fuzz/admission.h - what the targets about admission share.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "job/schema/job_schema.h"
#include "kube/model/json.h"
#include "schemas/schemas.h"

namespace nervex::testing {

// Ends the run: what was promised does not hold.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "broken promise: " << what << "\n";
  std::abort();
}

inline std::shared_ptr<const job::SchemaCheck> job_check() {
  static const auto kCheck = [] {
    const auto made = job::make_job_check(schemas::nervex_job(), schemas::pod_template());
    require(made.has_value(), "the OpenAPI document is usable");
    return *made;
  }();
  return kCheck;
}

}  // namespace nervex::testing
