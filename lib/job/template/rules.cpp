#include "job/template/rules.h"

#include <array>
#include <set>
#include <string_view>

#include "job/pod_manifest.h"
#include "job/ports.h"
#include "job/template/syntax.h"

namespace nervex::job {
namespace pod_template {
namespace {

// ---- one-line checks of the pod itself

void check_pod(const Place& spec, const Facts&) {
  const Place deadline = spec.at("activeDeadlineSeconds");
  deadline.in_range(1, 2'147'483'647);
  for (const auto field : {"serviceAccountName", "priorityClassName"}) {
    const Place name = spec.at(field);
    if (!name.text().empty()) name.must_be(dns_subdomain_problem(name.text()));
  }
  const Place runtime_class = spec.at("runtimeClassName");  // empty differs from absent
  if (runtime_class.value().is_string()) {
    runtime_class.must_be(dns_subdomain_problem(runtime_class.text()));
  }
  const Place node = spec.at("nodeName");
  if (!node.text().empty()) node.must_be(dns_subdomain_problem(node.text()));
  const Place restart = spec.at("restartPolicy");
  restart.one_of({"Always", "OnFailure", "Never"});
  const Place preemption = spec.at("preemptionPolicy");
  if (preemption.value() == Json("")) preemption.required();
  preemption.one_of({"PreemptLowerPriority", "Never"});
}

// The admission plugin Priority computes it from the class and refuses pods that state another
// value. Up to 1000000000 any class may have it, also the cluster's default: that is a warning.
// Higher values belong only to the two classes of Kubernetes itself.
void check_priority(const Place& spec, const Facts&) {
  constexpr std::int64_t kHighestOfUsers = 1'000'000'000;
  constexpr std::int64_t kClusterCritical = 2'000'000'000;
  constexpr std::int64_t kNodeCritical = 2'000'001'000;
  const Place priority = spec.at("priority");
  const auto number = priority.integer().value_or(0);
  if (number <= kHighestOfUsers || number == kClusterCritical || number == kNodeCritical) return;
  priority.invalid(
      "is filled in by the cluster from `priorityClassName`, and no class has this value: leave it "
      "out");
}

void check_os(const Place& spec, const Facts&) {
  const Place os = spec.at("os");
  if (!os.is_object()) return;
  const Place name = os.at("name");
  if (!name.has_text() || name.text() == "linux" || name.text() == "windows") return;
  os.not_supported(name.value(), {"linux", "windows"});  // the API server's path
}

void check_no_ephemeral_containers(const Place& spec, const Facts&) {
  const Place containers = spec.at("ephemeralContainers");
  if (containers.size() > 0) {
    containers.forbidden("ephemeral containers not allowed in pod template");
  }
}

void check_resource_claims(const Place& spec, const Facts&) {
  const Place claims = spec.at("resourceClaims");
  std::set<std::string, std::less<>> seen;
  claims.each_item([&](const Place& claim) {
    if (!claim.is_object()) return;
    const Place name = claim.at("name");
    if (name.has_text()) {
      if (!seen.insert(name.text()).second) {
        name.duplicate();
      } else {
        name.must_be(dns_label_problem(name.text()));
      }
    }
    const bool by_name = claim.at("resourceClaimName").is_there();
    const bool by_template = claim.at("resourceClaimTemplateName").is_there();
    if (by_name && by_template) {
      claim.invalid(
          "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    } else if (!by_name && !by_template) {
      claim.invalid("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    for (const auto field : {"resourceClaimName", "resourceClaimTemplateName"}) {
      const Place reference = claim.at(field);
      if (reference.value().is_string()) {
        reference.must_be(dns_subdomain_problem(reference.text()));
      }
    }
  });
}

// Also for an absent spec.
void check_has_containers(const Place& spec) {
  if (spec.is_there() && !spec.is_object()) return;
  const Place containers = spec.at("containers");
  const bool is_empty = containers.value().is_array() && containers.size() == 0;
  if (is_empty || !containers.is_there()) containers.required("at least one container is needed");
}

constexpr std::array kRules{
    NamedRule{"the pod", check_pod},
    NamedRule{"priority", check_priority},
    NamedRule{"operating system", check_os},
    NamedRule{"ephemeral containers", check_no_ephemeral_containers},
    NamedRule{"volumes", check_volumes},
    NamedRule{"resource claims", check_resource_claims},
    NamedRule{"containers", check_containers},
    NamedRule{"resources", check_pod_requirements},
    NamedRule{"resources of containers together", check_pod_resources},
    NamedRule{"host ports", check_host_ports},
    NamedRule{"overhead", check_overhead},
    NamedRule{"security context", check_pod_security},
    NamedRule{"Windows", check_windows},
    NamedRule{"node selector", check_node_selector},
    NamedRule{"affinity", check_affinity},
    NamedRule{"tolerations", check_tolerations},
    NamedRule{"spread", check_spread},
    NamedRule{"gates", check_gates},
    NamedRule{"size of node constraints", check_constraint_size},
    NamedRule{"number of spread constraints", check_planned_spread},
    NamedRule{"DNS", check_dns},
    NamedRule{"host aliases", check_host_aliases},
    NamedRule{"hostname", check_hostname},
};

// ---- facts

Facts::Volume classify_volume(const Json& volume) {
  if (kube::find(volume, {"persistentVolumeClaim"}) != nullptr ||
      kube::find(volume, {"ephemeral"}) != nullptr) {
    return Facts::Volume::kClaim;
  }
  if (kube::find(volume, {"emptyDir"}) != nullptr) return Facts::Volume::kEmptyDir;
  for (auto at = volume.begin(); at != volume.end(); ++at) {
    if (at.key() != "name" && !at->is_null()) return Facts::Volume::kOther;
  }
  return Facts::Volume::kEmptyDir;  // without a source it is also one
}

void gather_volumes(const Json& volumes, Facts& facts) {
  if (!volumes.is_array()) return;
  for (const Json& volume : volumes) {
    const std::string name = kube::string_at(volume, {"name"});
    if (!name.empty()) facts.volumes.try_emplace(name, classify_volume(volume));
  }
}

Facts gather_pod_facts(const Place& spec, const Place& labels, const Place& volumes,
                       const Json& job_volumes, Role role) {
  Facts facts;
  const Json& pod = spec.value();
  gather_volumes(volumes.value(), facts);
  gather_volumes(job_volumes, facts);
  facts.all_volumes = &volumes;
  for (const Json& claim : kube::array_at(pod, {"resourceClaims"})) {
    facts.claims.insert(kube::string_at(claim, {"name"}));
  }
  facts.labels = &labels.value();
  facts.os = kube::string_at(pod, {"os", "name"});
  const std::string restart = kube::string_at(pod, {"restartPolicy"});
  // The controller's default for coordinators, otherwise the API server's.
  facts.restarts_never = restart == "Never" || (restart.empty() && role == Role::kCoordinator);
  facts.host_network = kube::bool_at(pod, {"hostNetwork"});
  facts.host_ipc = kube::bool_at(pod, {"hostIPC"});
  facts.main_container = main_container(pod);
  facts.added_port = added_main_port(pod, role);
  facts.host_users = kube::bool_at(pod, {"hostUsers"}, true);
  facts.grace_seconds = kube::int_at(pod, {"terminationGracePeriodSeconds"}, 30);
  return facts;
}

}  // namespace

void check_item_name(const Place& item, Names& seen) {
  if (!item.is_object()) return;
  const Place name = item.at("name");
  if (!name.is_there()) return name.required();
  if (!name.value().is_string()) return;
  if (!dns_label_problem(name.text()).empty()) {
    name.invalid(
        "must be at most 63 lower-case letters, digits or '-', with a letter or digit at both "
        "ends");
  } else if (!seen.insert(name.text()).second) {
    name.duplicate();
  }
}

}  // namespace pod_template

void check_pod_template(const Json& pod_template, std::string_view path, const Json& job_volumes,
                        FieldErrors& errors, Role role) {
  using pod_template::Place;
  if (!pod_template.is_object()) return;
  const Place root(pod_template, path, errors);
  const Place metadata = root.at("metadata");
  const Place labels = metadata.at("labels");
  pod_template::check_labels(labels);
  const Place annotations = metadata.at("annotations");
  pod_template::check_annotations(annotations);
  const Place spec = root.at("spec");
  const Place misplaced = root.at("containers");  // reported by another check
  if (!misplaced.is_there()) pod_template::check_has_containers(spec);
  if (!spec.is_object()) return;
  const Place volumes = spec.at("volumes");
  const auto facts = pod_template::gather_pod_facts(spec, labels, volumes, job_volumes, role);
  for (const auto& rule : pod_template::kRules) {
    if (spec.is_full()) return;
    rule.check(spec, facts);
  }
}

FieldErrors check_metadata(const Json& object) {
  using pod_template::Place;
  FieldErrors errors;
  const Place root(object, "", errors);
  const Place metadata = root.at("metadata");
  const Place name = metadata.at("name");
  const Place prefix = metadata.at("generateName");
  if (name.text().empty() && prefix.text().empty()) {
    name.required("or generateName");
  } else if (!name.text().empty()) {
    name.must_be(pod_template::dns_subdomain_problem(name.text()));
  } else {
    std::string_view stem = prefix.text();  // a hyphen at its end is valid
    if (stem.ends_with('-')) stem.remove_suffix(1);
    prefix.must_be(pod_template::dns_subdomain_problem(stem));
  }
  const Place ns = metadata.at("namespace");
  if (!ns.text().empty()) ns.must_be(pod_template::dns_label_problem(ns.text()));
  const Place labels = metadata.at("labels");
  pod_template::check_labels(labels);
  const Place annotations = metadata.at("annotations");
  pod_template::check_annotations(annotations);
  return errors;
}

}  // namespace nervex::job
