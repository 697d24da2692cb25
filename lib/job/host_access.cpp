#include "job/host_access.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "job/template/place.h"
#include "job/validate.h"

namespace nervex::job {
namespace {

using pod_template::Place;

void report_detail(const Place& place, std::string detail) {
  if (place.is_full()) return;
  // The value is not shown, but distinguishes two accesses (validate_update.cpp).
  place.forbidden(place.value(), std::move(detail));
}

// Controls are named as on the page Pod Security Standards of kubernetes.io, so that people can
// look them up. The list is that of policy/check_*.go of the version in the header.
void report(const Place& place, std::string_view control) {
  report_detail(place,
                fmt::format("gives access to the node (Pod Security baseline: {})", control));
}

// ---- volumes

// Files of the cluster, and storage that an administrator has set up. For all other kinds the node
// mounts, with its own rights, what the author names: a server, or a driver's options.
constexpr std::array<std::string_view, 8> kVolumesOfCluster{
    "configMap", "downwardAPI",           "emptyDir",  "ephemeral",
    "image",     "persistentVolumeClaim", "projected", "secret"};

void check_volumes(const Place& owner) {
  const Place volumes = owner.at("volumes");
  volumes.each_item([](const Place& volume) {
    if (!volume.is_object()) return;
    for (const auto& [kind, source] : volume.value().items()) {
      if (!source.is_object()) continue;  // the volume's name, or null
      const bool is_of_cluster = std::find(kVolumesOfCluster.begin(), kVolumesOfCluster.end(),
                                           kind) != kVolumesOfCluster.end();
      if (is_of_cluster) continue;
      const Place place = volume.at(kind);
      if (kind == "hostPath") {
        report(place, "HostPath Volumes");
      } else {
        report_detail(place,
                      "gives access to the node, which mounts what the job names, as root: use a "
                      "persistentVolumeClaim");
      }
    }
  });
}

// ---- checks for both pods and containers

void check_host_process(const Place& context) {
  const Place options = context.at("windowsOptions");
  const Place process = options.at("hostProcess");
  if (process.is_true()) report(process, "HostProcess");
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> allowed) {
  return std::find(allowed.begin(), allowed.end(), text) != allowed.end();
}

void check_selinux(const Place& context) {
  const Place options = context.at("seLinuxOptions");
  const Place type = options.at("type");
  if (!is_one_of(type.text(), {"", "container_t", "container_init_t", "container_kvm_t",
                               "container_engine_t"})) {
    report(type, "SELinux");
  }
  for (const auto field : {"user", "role"}) {
    const Place place = options.at(field);
    if (!place.text().empty()) report(place, "SELinux");
  }
}

// A profile without a type is invalid; another check reports it.
void check_profile(const Place& context, const char* field, std::string_view control) {
  const Place profile = context.at(field);
  const Place type = profile.at("type");
  if (!is_one_of(type.text(), {"", "RuntimeDefault", "Localhost"})) report(type, control);
}

void check_context(const Place& context) {
  check_host_process(context);
  check_selinux(context);
  check_profile(context, "seccompProfile", "Seccomp");
  check_profile(context, "appArmorProfile", "AppArmor");
}

// ---- containers

void check_capabilities(const Place& context) {
  const Place capabilities = context.at("capabilities");
  const Place added = capabilities.at("add");
  added.each_item([](const Place& one) {
    if (!is_one_of(one.text(),
                   {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
                    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"})) {
      report(one, "Capabilities");
    }
  });
}

void check_handlers(const Place& holder, std::initializer_list<const char*> names) {
  for (const auto name : names) {
    const Place handler = holder.at(name);
    for (const auto way : {"httpGet", "tcpSocket"}) {
      const Place action = handler.at(way);
      const Place host = action.at("host");
      if (!host.text().empty()) report(host, "Host Probes / Lifecycle Hooks");
    }
  }
}

void check_container(const Place& container, bool has_own_users) {
  const Place context = container.at("securityContext");
  const Place privileged = context.at("privileged");
  if (privileged.is_true()) report(privileged, "Privileged Containers");
  check_capabilities(context);
  check_context(context);
  const Place proc = context.at("procMount");
  // In a user namespace the pod's root is unprivileged on the node (since 1.35).
  if (!has_own_users && !is_one_of(proc.text(), {"", "Default"})) report(proc, "/proc Mount Type");
  const Place ports = container.at("ports");
  ports.each_item([](const Place& port) {
    const Place host_port = port.at("hostPort");
    if (host_port.integer().value_or(0) != 0) report(host_port, "Host Ports");
  });
  check_handlers(container, {"livenessProbe", "readinessProbe", "startupProbe"});
  const Place lifecycle = container.at("lifecycle");
  check_handlers(lifecycle, {"postStart", "preStop"});
}

// ---- pods

// As of 1.32. Each belongs to the pod's own namespaces and does not affect other pods.
void check_sysctls(const Place& context) {
  const Place sysctls = context.at("sysctls");
  sysctls.each_item([](const Place& sysctl) {
    const Place name = sysctl.at("name");
    if (!is_one_of(name.text(),
                   {"", "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
                    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
                    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
                    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
                    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
                    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"})) {
      report(name, "Sysctls");
    }
  });
}

// The older way to name an AppArmor profile. Kubelets still honour it.
void check_annotations(const Place& pod) {
  const Place metadata = pod.at("metadata");
  const Place annotations = metadata.at("annotations");
  annotations.each_entry([](std::string_view key, const Place& profile) {
    if (!key.starts_with("container.apparmor.security.beta.kubernetes.io/")) return;
    const std::string& name = profile.text();
    if (!is_one_of(name, {"", "runtime/default"}) && !name.starts_with("localhost/")) {
      report(profile, "AppArmor");
    }
  });
}

void check_pod(const Place& pod) {
  check_annotations(pod);
  const Place spec = pod.at("spec");
  for (const auto field : {"hostNetwork", "hostPID", "hostIPC"}) {
    const Place shared = spec.at(field);
    if (shared.is_true()) report(shared, "Host Namespaces");
  }
  check_volumes(spec);
  const Place context = spec.at("securityContext");
  check_context(context);
  check_sysctls(context);
  const Place users = spec.at("hostUsers");
  for (const auto field : {"initContainers", "containers"}) {
    const Place containers = spec.at(field);
    containers.each_item(
        [&](const Place& container) { check_container(container, users.is_false()); });
  }
}

}  // namespace

FieldErrors find_host_access(const Json& object) {
  FieldErrors found;
  const Place root(object, "", found);
  const Place spec = root.at("spec");
  check_volumes(spec);
  for (const std::string_view role : kRolesWithTemplates) {
    const Place section = spec.at(role);
    const Place pod = section.at("template");
    check_pod(pod);
  }
  return found;
}

}  // namespace nervex::job
