// tests/job/corpus.h - the jobs of tests/job/corpus.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "kube/model/json.h"

namespace nervex::testing {

// base.json, right.json or wrong.json.
inline Json corpus_rows(const std::string& name) {
  std::ifstream file(std::string(NERVEX_SOURCE_DIR) + "/tests/job/corpus/" + name);
  return Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

inline std::string corpus_pointer(const Json& row, const std::string& below) {
  const std::string scope = row["in"];
  const std::string learner = "/spec/learner/template";
  if (scope == "job") return "/" + below;
  if (scope == "template") return learner + "/" + below;
  if (scope == "pod") return learner + "/spec/" + below;
  return learner + "/spec/containers/0/" + below;
}

// The row's job: the base with the row's changes.
inline Json corpus_job(const Json& row) {
  static const Json kBase = corpus_rows("base.json");
  Json job = kBase;
  for (const auto& [below, value] : row["set"].items()) {
    const Json::json_pointer pointer(corpus_pointer(row, below));
    if (value.is_null()) {
      job[pointer.parent_pointer()].erase(pointer.back());
    } else {
      job[pointer] = value;
    }
  }
  return job;
}

}  // namespace nervex::testing
