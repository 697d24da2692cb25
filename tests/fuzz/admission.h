// tests/fuzz/admission.h - what the targets about admission share.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
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
    std::ifstream file(NERVEX_SOURCE_DIR "/tests/golden/openapi-v1.36.3-pod-template.json");
    const std::string document(std::istreambuf_iterator<char>(file), {});
    const auto made = job::make_job_check(schemas::nervex_job(), document);
    require(made.has_value(), "the OpenAPI document is usable");
    return *made;
  }();
  return kCheck;
}

}  // namespace nervex::testing
