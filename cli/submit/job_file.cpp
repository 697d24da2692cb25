#include "cli/submit/job_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/submit/set_field.h"
#include "cli/validate/manifest_files.h"
#include "cli/validate/manifests.h"
#include "cli/validate/verdict.h"
#include "job/types.h"

namespace nervex::cli {

Result<Json> read_job_file(const std::string& file, const std::vector<std::string>& assignments) {
  const auto text = read_manifest_file(file);
  if (!text) return text.error();
  const auto manifests = parse_manifests(*text);
  if (!manifests) return manifests.error();
  const bool is_one =
      manifests->size() == 1 && kube::string_at(manifests->at(0).object, {"kind"}) == job::kKind;
  if (!is_one) {
    std::vector<std::string> kinds;
    for (const auto& manifest : *manifests) kinds.push_back(describe_kind(manifest.object));
    return Error{
        Code::kInvalid,
        fmt::format("it must hold one NerveXJob and nothing else, and holds {}: create "
                    "other objects with kubectl create -f",
                    kinds.empty() ? "nothing" : fmt::format("{}", fmt::join(kinds, ", ")))};
  }
  Json job = manifests->at(0).object;
  for (const auto& assignment : assignments) {
    if (auto done = set_field(job, assignment); !done) return done.error();
  }
  return job;
}

std::string choose_namespace(const Json& job, const ClusterFlags& flags,
                             const std::string& configured) {
  const std::string own = kube::string_at(job, {"metadata", "namespace"});
  if (own.empty()) return configured;
  return flags.ns.empty() || flags.ns == own ? own : "";
}

std::string describe_two_namespaces(const std::string& file, const ClusterFlags& flags) {
  return fmt::format("-n {} is not the namespace in {}: leave one of them out", flags.ns, file);
}

}  // namespace nervex::cli
