// Security contexts of pods and containers, host namespaces, and fields that Windows lacks.
#include <algorithm>
#include <array>

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

// Names of sysctls, with dots or slashes.
bool is_of_network(std::string_view name) {
  return name.starts_with("net.") || name.starts_with("net/");
}

bool is_of_ipc(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames{
      "kernel.sem",    "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
      "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"};
  std::string dotted(name);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  return dotted.starts_with("fs.mqueue.") ||
         std::find(kNames.begin(), kNames.end(), dotted) != kNames.end();
}

void check_sysctls(const Place& context, const Facts& facts) {
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
    } else if (facts.host_network && is_of_network(name.text())) {
      name.invalid("may not be specified when 'hostNetwork' is true");
    } else if (facts.host_ipc && is_of_ipc(name.text())) {
      name.invalid("may not be specified when 'hostIPC' is true");
    }
  });
}

}  // namespace

void check_pod_security(const Place& spec, const Facts& facts) {
  if (!facts.host_users) {
    for (const auto& [field, shown] :
         {std::pair{"hostPID", "HostPID"}, std::pair{"hostIPC", "HostIPC"}}) {
      const Place place = spec.at(field);
      const Place told = spec.at(shown);  // the API server's path
      if (place.is_true()) told.forbidden("when `hostUsers` is false");
    }
  }
  const Place share = spec.at("shareProcessNamespace");
  const Place pid = spec.at("hostPID");
  const Place context = spec.at("securityContext");
  if (share.is_true() && pid.is_true()) {
    const Place told = context.at("shareProcessNamespace");  // its path in the internal version
    told.invalid(true, "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  if (!context.is_object()) return;
  check_ids(context, {"fsGroup", "runAsUser", "runAsGroup"});
  const Place groups = context.at("supplementalGroups");
  groups.each_item([](const Place& group) { group.in_range(0, kMaxId); });
  check_sysctls(context, facts);
  const Place change = context.at("fsGroupChangePolicy");
  change.exactly_one_of({"Always", "OnRootMismatch"});
  const Place supplemental = context.at("supplementalGroupsPolicy");
  supplemental.exactly_one_of({"Merge", "Strict"});
  const Place selinux = context.at("seLinuxChangePolicy");
  selinux.exactly_one_of({"MountOption", "Recursive"});
  check_seccomp(context);
  check_app_armor(context);
}

void check_container_security(const Place& container, const Facts& facts) {
  const Place context = container.at("securityContext");
  if (!context.is_object()) return;
  check_ids(context, {"runAsUser", "runAsGroup"});
  const Place proc = context.at("procMount");
  proc.exactly_one_of({"Default", "Unmasked"});
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

// ---- operating systems

namespace {

// Forbids those of `fields` that are set: true, or not empty.
void forbid(const Place& holder, std::initializer_list<std::string_view> fields,
            std::string_view why) {
  for (const auto field : fields) {
    const Place place = holder.at(field);
    const bool is_empty = place.value().is_array() && place.size() == 0;
    if (place.is_there() && !is_empty) place.forbidden(std::string(why));
  }
}

template <typename Check>
void each_container(const Place& spec, Check check) {
  for (const auto list : {"initContainers", "containers"}) {
    const Place containers = spec.at(list);
    containers.each_item([&](const Place& container) {
      const Place context = container.at("securityContext");
      check(context);
    });
  }
}

}  // namespace

void check_windows(const Place& spec, const Facts& facts) {
  const Place context = spec.at("securityContext");
  if (facts.os == "linux") {
    constexpr std::string_view kWhy = "windows options cannot be set for a linux pod";
    forbid(context, {"windowsOptions"}, kWhy);
    each_container(spec, [&](const Place& one) { forbid(one, {"windowsOptions"}, kWhy); });
  }
  if (facts.os != "windows") return;
  constexpr std::string_view kWhy = "cannot be set for a windows pod";
  for (const auto field : {"hostPID", "hostIPC"}) {
    const Place place = spec.at(field);
    if (place.is_true()) place.forbidden(std::string(kWhy));
  }
  forbid(spec, {"hostUsers", "shareProcessNamespace"}, kWhy);
  forbid(context,
         {"appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy",
          "sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"},
         kWhy);
  each_container(spec, [&](const Place& one) {
    forbid(one,
           {"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
            "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount",
            "runAsUser", "runAsGroup"},
           kWhy);
  });
}

}  // namespace nervex::job::pod_template
