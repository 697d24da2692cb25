#include "job/host_access.h"

#include <fmt/format.h>

namespace nervex::job {
namespace {

constexpr std::array<std::string_view, 4> kRolesWithTemplates{"coordinator", "collector", "learner",
                                                              "aggregator"};

// The value is not shown, but tells one access from another (validate_update.cpp).
void report(std::string field, const Json& value, FieldErrors& found) {
  if (found.size() >= kMaxErrors) return;
  found.push_back({FieldErrorType::kForbidden, std::move(field), kube::to_text(value),
                   "gives access to the node"});
}

void check_volumes(const Json& volumes, const std::string& path, FieldErrors& found) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Json* host_path = kube::find(volumes[i], {"hostPath"});
    if (host_path == nullptr) continue;
    report(fmt::format("{}[{}].hostPath", path, i), *host_path, found);
  }
}

void check_security(const Json& owner, const std::string& path, FieldErrors& found) {
  const Json* security = kube::find(owner, {"securityContext"});
  if (security == nullptr) return;
  if (kube::bool_at(*security, {"privileged"})) {
    report(path + ".securityContext.privileged", true, found);
  }
  const Json& added = kube::array_at(*security, {"capabilities", "add"});
  if (!added.empty()) report(path + ".securityContext.capabilities.add", added, found);
  if (kube::bool_at(*security, {"windowsOptions", "hostProcess"})) {
    report(path + ".securityContext.windowsOptions.hostProcess", true, found);
  }
}

void check_pod(const Json& spec, const std::string& path, FieldErrors& found) {
  for (const char* field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (kube::bool_at(spec, {field})) report(fmt::format("{}.{}", path, field), true, found);
  }
  check_volumes(kube::array_at(spec, {"volumes"}), path + ".volumes", found);
  check_security(spec, path, found);
  for (const char* list : {"initContainers", "containers"}) {
    const Json& containers = kube::array_at(spec, {list});
    for (std::size_t i = 0; i < containers.size(); ++i) {
      check_security(containers[i], fmt::format("{}.{}[{}]", path, list, i), found);
    }
  }
}

}  // namespace

FieldErrors find_host_access(const Json& object) {
  FieldErrors found;
  check_volumes(kube::array_at(object, {"spec", "volumes"}), "spec.volumes", found);
  for (const std::string_view role : kRolesWithTemplates) {
    const Json* spec = kube::find(object, {"spec", role, "template", "spec"});
    if (spec != nullptr) check_pod(*spec, fmt::format("spec.{}.template.spec", role), found);
  }
  return found;
}

}  // namespace nervex::job
