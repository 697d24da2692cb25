// job/template/rules.h - would the API server accept the pods of this template?
//
// The rules of kubernetes 1.36 (pkg/apis/core/validation, after defaulting), with its messages and
// paths, so that errors show at admission and not with the first pod; and a bound of ours on what
// is kept of a job that waits. One error per fault. Values of a wrong type are skipped: a schema
// reports them. Rules that need the cluster are not here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "job/field_error.h"
#include "job/template/place.h"
#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::job {

// Checks a PodTemplateSpec at `path`. `job_volumes` (null: none) are the job's volumes, which all
// pods of its roles also have; their errors are reported elsewhere. `role`: whose port the
// controller adds; given for all templates except an AggregatorConfig's.
void check_pod_template(const Json& pod_template, std::string_view path, const Json& job_volumes,
                        FieldErrors& errors, Role role = Role::kAggregator);

// What the API server checks of our objects before it calls a webhook: name, namespace, labels and
// annotations.
FieldErrors check_metadata(const Json& object);

// What Kubernetes accepts but users rarely intend: duplicate variables, fractions of bytes, images
// that no node can pull, selectors that match no pod. For a job or an AggregatorConfig. The point
// of each warning comes before the API server cuts it at 120 characters.
std::vector<std::string> template_warnings(const Json& object);

namespace pod_template {

// Facts about the pod that several rules need, gathered once.
struct Facts {
  enum class Volume { kClaim, kEmptyDir, kOther };     // a claim may be a device
  std::map<std::string, Volume, std::less<>> volumes;  // by name
  const Place* all_volumes = nullptr;                  // where one can be added, borrowed
  std::set<std::string, std::less<>> claims;           // spec.resourceClaims
  const Json* labels = nullptr;                        // of the template, borrowed
  std::string os;                                      // "" if not stated
  bool restarts_never = false;
  bool host_network = false;
  bool host_ipc = false;
  int main_container = -1;
  int added_port = 0;  // added by the controller on the main container; 0: none
  bool host_users = true;
  std::int64_t grace_seconds = 30;
};

// Checks one subject of `spec`. The table that calls the rules is in rules.cpp.
using Rule = void (*)(const Place& spec, const Facts& facts);
struct NamedRule {
  std::string_view subject;
  Rule check;
};

// rules.cpp
// Checks the name of a container or volume against `seen`, and adds it there.
using Names = std::set<std::string, std::less<>>;
void check_item_name(const Place& item, Names& seen);
// volume_sources.cpp
void check_volume_source(const Place& volume);
// volumes.cpp
void check_volumes(const Place& spec, const Facts& facts);
void check_mounts(const Place& container, const Facts& facts);
void check_devices(const Place& container, const Facts& facts);
// ports.cpp
void check_host_ports(const Place& spec, const Facts& facts);
void check_ports(const Place& container, const Facts& facts);
// env.cpp
void check_env(const Place& container, const Facts& facts);
void check_env_from(const Place& container, const Facts& facts);
// Also for volumes, which name a container.
void check_field_ref(const Place& ref, bool in_volume);
void check_resource_field_ref(const Place& ref, bool in_volume);
// probes.cpp
void check_probes(const Place& container, const Facts& facts);
void check_init_probes(const Place& container, const Facts& facts);
// containers.cpp
void check_containers(const Place& spec, const Facts& facts);
// resources.cpp
void check_container_requirements(const Place& container, const Facts& facts);
void check_pod_requirements(const Place& spec, const Facts& facts);
// quantities.cpp
void check_huge_pages(const Place& container, const Facts& facts);
void check_claims(const Place& container, const Facts& facts);
void check_pod_resources(const Place& spec, const Facts& facts);
void check_overhead(const Place& spec, const Facts& facts);
void check_quantity(const Place& quantity);
// "", or what is wrong with it as an amount of `resource`; "" is any resource.
std::string quantity_problem(std::string_view text, std::string_view resource);
// A quantity may be written as a number. "" if it is neither text nor number.
std::string amount_text(const Place& quantity);
// For cpu in thousandths; nullopt if absent or not a quantity.
std::optional<std::int64_t> parse_amount(const Place& quantity, std::string_view resource);
// "4G or 4Gi" for 4GB, "100m" for 100mb of cpu; "" if there is no likely match.
std::string similar_quantity(std::string_view text, std::string_view resource);
// "nvidia.com/gpu" for gpu, nvidia-gpu, nvidia/gpu; "" if valid or without a likely match.
std::string similar_device(std::string_view resource);
// security.cpp
void check_pod_security(const Place& spec, const Facts& facts);
void check_container_security(const Place& container, const Facts& facts);
void check_windows(const Place& spec, const Facts& facts);
// scheduling.cpp
void check_node_selector(const Place& spec, const Facts& facts);
void check_affinity(const Place& spec, const Facts& facts);
void check_tolerations(const Place& spec, const Facts& facts);
void check_spread(const Place& spec, const Facts& facts);
void check_gates(const Place& spec, const Facts& facts);
void check_constraint_size(const Place& spec, const Facts& facts);
void check_planned_spread(const Place& spec, const Facts& facts);
void check_labels(const Place& labels);
void check_annotations(const Place& annotations);
// network.cpp
void check_dns(const Place& spec, const Facts& facts);
void check_host_aliases(const Place& spec, const Facts& facts);
void check_hostname(const Place& spec, const Facts& facts);

}  // namespace pod_template
}  // namespace nervex::job
