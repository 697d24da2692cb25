#include "job/host_access.h"

#include "job/template/place.h"

namespace nervex::job {
namespace {

using pod_template::Place;

class HostAccess {
 public:
  explicit HostAccess(FieldErrors& found) : found_(found) {}

  void check_volumes(const Place& owner) {
    const Place volumes = owner.at("volumes");
    volumes.each_item([&](const Place& volume) {
      const Place host_path = volume.at("hostPath");
      if (host_path.is_there()) report(host_path);
    });
  }

  void check_pod(const Place& spec) {
    for (const auto field : {"hostNetwork", "hostPID", "hostIPC"}) {
      const Place shared = spec.at(field);
      if (shared.is_true()) report(shared);
    }
    check_volumes(spec);
    check_security(spec);
    for (const auto field : {"initContainers", "containers"}) {
      const Place containers = spec.at(field);
      containers.each_item([&](const Place& container) { check_security(container); });
    }
  }

 private:
  void check_security(const Place& owner) {
    const Place security = owner.at("securityContext");
    if (!security.is_there()) return;
    const Place privileged = security.at("privileged");
    if (privileged.is_true()) report(privileged);
    const Place capabilities = security.at("capabilities");
    const Place added = capabilities.at("add");
    if (added.size() > 0) report(added);
    const Place windows = security.at("windowsOptions");
    const Place process = windows.at("hostProcess");
    if (process.is_true()) report(process);
  }

  // The value is not shown, but tells one access from another (validate_update.cpp).
  void report(const Place& place) {
    if (place.is_full()) return;
    found_.push_back({FieldErrorType::kForbidden, place.path(), kube::to_text(place.value()),
                      "gives access to the node"});
  }

  FieldErrors& found_;
};

}  // namespace

FieldErrors find_host_access(const Json& object) {
  FieldErrors found;
  HostAccess access(found);
  static const Json kNone;
  const Json* there = kube::find(object, {"spec"});
  const Place spec(there == nullptr ? kNone : *there, "spec", found);
  access.check_volumes(spec);
  for (const std::string_view role : kRolesWithTemplates) {
    const Place section = spec.at(role);
    const Place pod_template = section.at("template");
    const Place pod = pod_template.at("spec");
    access.check_pod(pod);
  }
  return found;
}

}  // namespace nervex::job
