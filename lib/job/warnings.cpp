#include "job/warnings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "job/host_access.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "job/template/rules.h"
#include "job/types.h"
#include "job/validate.h"
#include "kube/model/anti_affinity.h"

namespace nervex::job {
namespace {

using Warnings = std::vector<std::string>;

// ---- of the job

void warn_of_restarts(const Json&, const Json& spec, Warnings& warnings) {
  const Json* pod = kube::find(spec, {"coordinator", "template", "spec"});
  if (pod == nullptr || !may_restart_in_place(*pod)) return;
  const std::string policy = kube::string_at(*pod, {"restartPolicy"}, "Never");
  const std::string_view field = policy == "Never" ? "" : ".restartPolicy: ";
  // A container restarted in place would request a second full set of replicas.
  warnings.push_back(
      fmt::format("spec.coordinator.template.spec{}{}: a restart of the coordinator restarts the "
                  "whole job",
                  field, field.empty() ? "" : policy));
}

void warn_of_unreserved(const Json&, const Json& spec, Warnings& warnings) {
  for (const std::string_view role : {"collector", "learner"}) {
    if (kube::find(spec, {role, "template"}) == nullptr) continue;
    if (kube::int_at(spec, {role, "replicas"}) > 0) continue;
    if (kube::int_at(spec, {role, "reservedReplicas"}) > 0) continue;
    warnings.push_back(fmt::format(
        "spec.{0}: no replicas or reservedReplicas: the job starts even if no {0} fits", role));
  }
}

bool reserves_capacity(const Json& spec, std::string_view role) {
  return kube::int_at(spec, {role, "reservedReplicas"}) > kube::int_at(spec, {role, "replicas"});
}

void warn_of_reserved_capacity(const Json&, const Json& spec, Warnings& warnings) {
  const bool reserves = reserves_capacity(spec, "collector") || reserves_capacity(spec, "learner");
  if (reserves && kube::int_at(spec, {"reservationSeconds"}, 1) == 0) {
    warnings.push_back(
        "spec.reservationSeconds: with 0, capacity of reservedReplicas is released when the "
        "coordinator runs");
  }
}

// Whether these terms keep the role's pods apart from each other and from no other pods, which the
// planner handles. `job` and `role` give the labels that the controller adds.
bool is_planned(const Json& terms, const Json& pod_template, const kube::Meta& job,
                std::string_view role) {
  const Json* written = kube::find(pod_template, {"metadata", "labels"});
  kube::Labels labels = written == nullptr ? kube::Labels() : kube::list_labels(*written);
  labels.emplace_back(kGroupLabel, kGroupLabelValue);
  labels.emplace_back(kControllerLabel, kControllerLabelValue);
  labels.emplace_back(kJobLabel, job.name);
  labels.emplace_back(kRoleLabel, role);
  return kube::self_anti_affinity(terms, job.ns.str(), labels).size() == terms.size();
}

}  // namespace

std::string left_to_scheduler(const Json& pod_template, const kube::Meta& job,
                              std::string_view role) {
  const Json* pod_spec = kube::find(pod_template, {"spec"});
  if (pod_spec == nullptr) return "";
  if (!kube::array_at(*pod_spec, {"resourceClaims"}).empty()) return "resourceClaims";
  for (const auto kind : {"podAntiAffinity", "podAffinity"}) {
    const auto& terms = kube::array_at(
        *pod_spec, {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
    const bool may_be_planned = kind == std::string_view("podAntiAffinity");
    if (terms.empty() || (may_be_planned && is_planned(terms, pod_template, job, role))) {
      continue;
    }
    return kind;
  }
  return "";
}

namespace {

void warn_of_unplanned(const Json& object, const Json& spec, Warnings& warnings) {
  const kube::Meta meta = kube::decode_meta(object);
  for (const auto role : kTemplateRoles) {
    const Json* pod_template = kube::find(spec, {role, "template"});
    if (pod_template == nullptr) continue;
    if (!kube::array_at(*pod_template, {"spec", "schedulingGates"}).empty()) {
      warnings.push_back(
          fmt::format("spec.{}.template: schedulingGates: no pod of the gang starts before all "
                      "gates are removed",
                      role));
    }
    const std::string what = left_to_scheduler(*pod_template, meta, role);
    if (what.empty()) continue;
    warnings.push_back(fmt::format(
        "spec.{}.template: {} is best effort: left to kube-scheduler, not planned", role, what));
  }
}

// ---- of its containers

// A regular container of the template at spec.<role>.template.
struct ContainerAt {
  std::string_view role;
  std::size_t index;
  bool is_main;
  std::string path() const {
    return fmt::format("spec.{}.template.spec.containers[{}]", role, index);
  }
};

// look(container, ContainerAt) for each.
template <typename Look>
void each_container(const Json& spec, const Look& look) {
  for (const std::string_view role : kRolesWithTemplates) {
    const Json* pod = kube::find(spec, {role, "template", "spec"});
    if (pod == nullptr) continue;
    const int main = main_container(*pod);
    const Json& containers = kube::array_at(*pod, {"containers"});
    for (std::size_t i = 0; i < containers.size(); ++i) {
      look(containers[i], ContainerAt{role, i, std::cmp_equal(i, main)});
    }
  }
}

void warn_of_no_resources(const Json&, const Json& spec, Warnings& warnings) {
  each_container(spec, [&](const Json& container, const ContainerAt& at) {
    const Json* limits = kube::find(container, {"resources", "limits"});
    const Json* requests = kube::find(container, {"resources", "requests"});
    const auto has_for_pod = [&](std::string_view kind) {
      return kube::find(spec, {at.role, "template", "spec", "resources", kind}) != nullptr;
    };
    if (!at.is_main || limits != nullptr || requests != nullptr) return;
    if (has_for_pod("limits") || has_for_pod("requests")) return;
    warnings.push_back(at.path() +
                       ".resources: no requests or limits: planned as if it needed nothing");
  });
}

// Names from make_environment() in job/pod_manifest.cpp that users set by mistake.
constexpr std::array<std::string_view, 16> kReservedVariables{"COORDINATOR_PORT",
                                                              "COLLECTOR_PORT",
                                                              "LEARNER_PORT",
                                                              "AGGREGATOR_PORT",
                                                              "KUBERNETES_POD_NAMESPACE",
                                                              "KUBERNETES_POD_NAME",
                                                              "KUBERNETES_SERVER_URL",
                                                              "KUBERNETES_NERVEX_SERVER_URL",
                                                              "KUBERNETES_COORDINATOR_URL",
                                                              "KUBERNETES_AGGREGATOR_URL",
                                                              "KUBERNETES_NERVEX_SERVER_TOKEN_FILE",
                                                              "WORLD_SIZE",
                                                              "LOCAL_WORLD_SIZE",
                                                              "START_RANK",
                                                              "MASTER_ADDR",
                                                              "MASTER_PORT"};

void warn_of_reserved_variables(const Json&, const Json& spec, Warnings& warnings) {
  each_container(spec, [&](const Json& container, const ContainerAt& at) {
    const Json& variables = kube::array_at(container, {"env"});
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string_view name = kube::text_at(variables[i], {"name"});
      if (std::find(kReservedVariables.begin(), kReservedVariables.end(), name) ==
          kReservedVariables.end()) {
        continue;
      }
      warnings.push_back(
          fmt::format("{}.env[{}]: {} may be set by the controller", at.path(), i, name));
    }
  });
}

void warn_of_ignored_ports(const Json&, const Json& spec, Warnings& warnings) {
  each_container(spec, [&](const Json& container, const ContainerAt& at) {
    const Json& ports = kube::array_at(container, {"ports"});
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (at.is_main || kube::string_at(ports[i], {"name"}) != kMainPort) continue;
      warnings.push_back(fmt::format("{}.ports[{}]: ignored: {} belongs in the main container",
                                     at.path(), i, kMainPort));
    }
  });
}

void warn_of_schedulers(const Json&, const Json& spec, Warnings& warnings) {
  for (const std::string_view role : kRolesWithTemplates) {
    const std::string name = kube::string_at(spec, {role, "template", "spec", "schedulerName"});
    if (name.empty() || name == kSchedulerName) continue;
    warnings.push_back(
        fmt::format("spec.{}.template.spec.schedulerName: replaced by {}", role, kSchedulerName));
  }
}

// Valid only if they equal those of the class, which only the cluster knows; otherwise its
// admission refuses each pod. People copy them from a running pod.
void warn_of_copied_priorities(const Json&, const Json& spec, Warnings& warnings) {
  for (const std::string_view role : kRolesWithTemplates) {
    for (const std::string_view field : {"priority", "preemptionPolicy"}) {
      if (kube::find(spec, {role, "template", "spec", field}) == nullptr) continue;
      warnings.push_back(
          fmt::format("spec.{}.template.spec.{}: the cluster sets it from the class: leave it out",
                      role, field));
    }
  }
}

void warn_of_templates(const Json& object, const Json&, Warnings& warnings) {
  for (auto& text : template_warnings(object)) warnings.push_back(std::move(text));
}

using WarningCheck = void (*)(const Json& object, const Json& spec, Warnings& warnings);
struct NamedCheck {
  std::string_view name;  // for people who search for it
  WarningCheck check;
};
constexpr std::array<NamedCheck, 10> kWarningChecks{{
    {"coordinator-restarts", warn_of_restarts},
    {"reserved-capacity-of-no-time", warn_of_reserved_capacity},
    {"not-planned", warn_of_unplanned},
    {"no-capacity-reserved", warn_of_unreserved},
    {"no-resources", warn_of_no_resources},
    {"reserved-variables", warn_of_reserved_variables},
    {"ignored-ports", warn_of_ignored_ports},
    {"foreign-scheduler", warn_of_schedulers},
    {"copied-priorities", warn_of_copied_priorities},
    {"templates", warn_of_templates},
}};

// kubectl prints them all, and the API server cuts them at 4 kB in total.
constexpr std::size_t kMaxWarnings = 20;

}  // namespace

std::vector<std::string> warnings_for(const Json& object) {
  Warnings warnings;
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr) return warnings;
  for (const auto& [name, check] : kWarningChecks) check(object, *spec, warnings);
  if (warnings.size() > kMaxWarnings) warnings.resize(kMaxWarnings);
  return warnings;
}

std::vector<std::string> host_access_warnings(const Json& object) {
  Warnings warnings;
  for (const auto& found : find_host_access(object)) {
    if (warnings.size() == kMaxWarnings) break;
    warnings.push_back(fmt::format("{}: {}", found.field, found.detail));
  }
  return warnings;
}

std::vector<std::string> reservation_seconds_warnings(const Json& object, int limit) {
  if (kube::int_at(object, {"spec", "reservationSeconds"}) <= limit) return {};
  return {
      fmt::format("spec.reservationSeconds: this cluster reserves capacity for at most {} s: more "
                  "has no effect",
                  limit)};
}

std::vector<std::string> warnings_on_create(const Json& object) {
  Warnings warnings;
  const auto add = [&](Warnings more) {
    std::move(more.begin(), more.end(), std::back_inserter(warnings));
  };
  if (kube::find(object, {"spec", "requests"}) != nullptr) warnings.emplace_back(kRequestsDropped);
  if (kube::string_at(object, {"spec", "cleanPodPolicy"}) == "ALL") {
    warnings.emplace_back(kStoredAsAll);
  }
  add(host_access_warnings(object));
  add(reservation_seconds_warnings(object, kDefaultMaxReservationSeconds));
  add(warnings_for(object));
  return warnings;
}

}  // namespace nervex::job
