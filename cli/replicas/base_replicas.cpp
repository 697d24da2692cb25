#include "cli/replicas/base_replicas.h"

#include <array>

#include <fmt/format.h>

namespace nervex::cli {

Result<Json> patch_base_replicas(const Json& job, const BaseChange& change) {
  struct Part {
    const char* role;
    int added;
  };
  Json spec = Json::object();
  for (const Part& part :
       std::array<Part, 2>{{{"collector", change.collectors}, {"learner", change.learners}}}) {
    if (part.added == 0) continue;
    if (kube::find(job, {"spec", part.role}) == nullptr) {
      return Error{Code::kInvalid,
                   fmt::format("the job has no {0}s: spec.{0} has no template", part.role)};
    }
    const std::int64_t now = kube::int_at(job, {"spec", part.role, "replicas"});
    if (now + part.added < 0) {
      return Error{Code::kInvalid, fmt::format("the job has only {} base {}s", now, part.role)};
    }
    spec[part.role]["replicas"] = now + part.added;
  }
  return Json{
      {"metadata", {{"resourceVersion", kube::string_at(job, {"metadata", "resourceVersion"})}}},
      {"spec", std::move(spec)}};
}

}  // namespace nervex::cli
