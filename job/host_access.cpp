#include "job/host_access.h"

#include "job/template/place.h"

namespace nervex::job {
namespace {

using pod_template::Place;

// The value is not shown, but tells one access from another (validate_update.cpp).
void report(const Place& place, FieldErrors& found) {
  if (place.is_full()) return;
  found.push_back({FieldErrorType::kForbidden, place.path(), kube::to_text(place.value()),
                   "gives access to the node"});
}

void check_volumes(const Place& owner, FieldErrors& found) {
  const Place volumes = owner.at("volumes");
  volumes.each_item([&](const Place& volume) {
    const Place host_path = volume.at("hostPath");
    if (host_path.is_there()) report(host_path, found);
  });
}

void check_security(const Place& owner, FieldErrors& found) {
  const Place security = owner.at("securityContext");
  const Place privileged = security.at("privileged");
  if (privileged.is_true()) report(privileged, found);
  const Place capabilities = security.at("capabilities");
  const Place added = capabilities.at("add");
  if (added.size() > 0) report(added, found);
  const Place windows = security.at("windowsOptions");
  const Place process = windows.at("hostProcess");
  if (process.is_true()) report(process, found);
}

void check_pod(const Place& spec, FieldErrors& found) {
  for (const auto field : {"hostNetwork", "hostPID", "hostIPC"}) {
    const Place shared = spec.at(field);
    if (shared.is_true()) report(shared, found);
  }
  check_volumes(spec, found);
  check_security(spec, found);
  for (const auto field : {"initContainers", "containers"}) {
    const Place containers = spec.at(field);
    containers.each_item([&](const Place& container) { check_security(container, found); });
  }
}

}  // namespace

FieldErrors find_host_access(const Json& object) {
  FieldErrors found;
  const Place root(object, "", found);
  const Place spec = root.at("spec");
  check_volumes(spec, found);
  for (const std::string_view role : kRolesWithTemplates) {
    const Place section = spec.at(role);
    const Place pod_template = section.at("template");
    const Place pod = pod_template.at("spec");
    check_pod(pod, found);
  }
  return found;
}

}  // namespace nervex::job
