// Security contexts of pods and containers, and namespaces of the host.
#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

constexpr std::int64_t kMaxId = 2'147'483'647;

void check_ids(const Place& context, std::initializer_list<std::string_view> fields) {
  for (const auto field : fields) {
    const Place id = context.at(field);
    id.in_range(0, kMaxId);
  }
}

void check_seccomp(const Place& context) {
  const Place profile = context.at("seccompProfile");
  if (!profile.is_object()) return;
  const Place type = profile.at("type");
  const Place local = profile.at("localhostProfile");
  if (type.text().empty()) {
    if (!type.is_there() || type.value().is_string()) {
      type.required("type is required when seccompProfile is set");
    }
  } else {
    type.one_of({"Localhost", "RuntimeDefault", "Unconfined"});
  }
  if (type.text() != "Localhost") {
    if (local.is_there()) local.invalid("can only be set when seccomp type is Localhost");
  } else if (!local.is_there()) {
    local.required("must be set when seccomp type is Localhost");
  } else {
    local.must_be(descending_path_problem(local.text()));
  }
}

void check_app_armor(const Place& context) {
  const Place profile = context.at("appArmorProfile");
  if (!profile.is_object()) return;
  const Place type = profile.at("type");
  const Place local = profile.at("localhostProfile");
  const std::string& name = type.text();
  if (name.empty()) {
    if (!type.is_there() || type.value().is_string()) {
      type.required("type is required when appArmorProfile is set");
    }
  } else if (name == "Localhost") {
    if (local.text().empty()) local.required("must be set when AppArmor type is Localhost");
  } else if (name == "RuntimeDefault" || name == "Unconfined") {
    if (local.is_there()) local.invalid("can only be set when AppArmor type is Localhost");
  } else {
    type.not_supported({"Localhost", "RuntimeDefault", "Unconfined"});
  }
}

void check_sysctls(const Place& context) {
  const Place sysctls = context.at("sysctls");
  std::set<std::string, std::less<>> seen;
  sysctls.each_item([&](const Place& sysctl) {
    if (!sysctl.is_object()) return;
    const Place name = sysctl.at("name");
    if (!name.has_text()) return;
    if (const auto why = sysctl_problem(name.text()); !why.empty()) {
      name.invalid(why);
    } else if (!seen.insert(name.text()).second) {
      name.duplicate();
    }
  });
}

}  // namespace

void check_pod_security(const Place& spec, const Facts& facts) {
  if (!facts.host_users) {
    for (const auto& [field, shown] :
         {std::pair{"hostPID", "HostPID"}, std::pair{"hostIPC", "HostIPC"}}) {
      const Place place = spec.at(field);
      const Place told = spec.at(shown);  // as the API server writes them
      if (place.is_true()) told.forbidden("when `hostUsers` is false");
    }
  }
  const Place share = spec.at("shareProcessNamespace");
  const Place pid = spec.at("hostPID");
  const Place context = spec.at("securityContext");
  if (share.is_true() && pid.is_true()) {
    const Place told = context.at("shareProcessNamespace");  // where it is in the internal version
    told.invalid(true, "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  if (!context.is_object()) return;
  check_ids(context, {"fsGroup", "runAsUser", "runAsGroup"});
  const Place groups = context.at("supplementalGroups");
  groups.each_item([](const Place& group) { group.in_range(0, kMaxId); });
  check_sysctls(context);
  const Place change = context.at("fsGroupChangePolicy");
  change.one_of({"Always", "OnRootMismatch"});
  const Place supplemental = context.at("supplementalGroupsPolicy");
  supplemental.one_of({"Merge", "Strict"});
  const Place selinux = context.at("seLinuxChangePolicy");
  selinux.one_of({"MountOption", "Recursive"});
  check_seccomp(context);
  check_app_armor(context);
}

void check_container_security(const Place& container, const Facts& facts) {
  const Place context = container.at("securityContext");
  if (!context.is_object()) return;
  check_ids(context, {"runAsUser", "runAsGroup"});
  const Place proc = context.at("procMount");
  proc.one_of({"Default", "Unmasked"});
  if (facts.host_users && proc.text() == "Unmasked") {
    proc.invalid("`hostUsers` must be false to use `Unmasked`");
  }
  check_seccomp(context);
  check_app_armor(context);
  if (!kube::bool_at(context.value(), {"allowPrivilegeEscalation"}, true)) {
    if (kube::bool_at(context.value(), {"privileged"})) {
      context.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    for (const Json& capability : kube::array_at(context.value(), {"capabilities", "add"})) {
      if (capability == "CAP_SYS_ADMIN") {
        context.invalid(
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
      }
    }
  }
}

}  // namespace nervex::job::pod_template
