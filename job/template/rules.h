// job/template/rules.h - would the API server take the pods that are made from this template?
//
// The rules of kubernetes 1.36 (pkg/apis/core/validation, with what defaulting does before it), in
// its words and with its paths, so that what would be noticed at the first pod is noticed at
// admission. One error per fault; values of a wrong type are passed over: a schema tells of them.
// Not here: what needs the cluster.
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

// Checks a PodTemplateSpec that stands at `path`. `job_volumes` (null: none) are those of the job,
// which every pod of its roles has as well; what is wrong with them is told elsewhere.
// `role`: whose port the controller adds; said for all but the template of an AggregatorConfig.
void check_pod_template(const Json& pod_template, std::string_view path, const Json& job_volumes,
                        FieldErrors& errors, Role role = Role::kAggregator);

// What the API server checks of every object of ours before it asks a webhook: its name, namespace,
// labels and annotations.
FieldErrors check_metadata(const Json& object);

// What Kubernetes takes but nobody means: variables named twice, fractions of bytes, images that no
// node can pull, selectors that match no pod. Of a job or an AggregatorConfig, the point of each
// before the API server cuts it at 120 characters.
std::vector<std::string> template_warnings(const Json& object);

namespace pod_template {

// What several rules ask of the pod, gathered once.
struct Facts {
  enum class Volume { kClaim, kEmptyDir, kOther };     // a claim may be a device
  std::map<std::string, Volume, std::less<>> volumes;  // by name
  const Place* all_volumes = nullptr;                  // where one can be added, borrowed
  std::set<std::string, std::less<>> claims;           // spec.resourceClaims
  const Json* labels = nullptr;                        // of the template, borrowed
  std::string os;                                      // "" if nobody says
  bool restarts_never = false;
  bool host_network = false;
  bool host_ipc = false;
  int main_container = -1;
  int added_port = 0;  // of the controller, on the main container; 0: none
  bool host_users = true;
  std::int64_t grace_seconds = 30;
};

// One subject each: what of `spec` breaks its rules. The table that calls them is in rules.cpp.
using Rule = void (*)(const Place& spec, const Facts& facts);
struct NamedRule {
  std::string_view subject;
  Rule check;
};

// rules.cpp
// The name of a container or volume, against those `seen` before it; adds it to them.
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
// Also of volumes, which name a container.
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
// "" or what is wrong with it as an amount of `resource`, "" any.
std::string quantity_problem(std::string_view text, std::string_view resource);
// A quantity may be written as a number. "" if it is neither.
std::string text_of(const Place& quantity);
// Of cpu in thousandths; nullopt if there is none, or it is no quantity.
std::optional<std::int64_t> amount_of(const Place& quantity, std::string_view resource);
// "4G or 4Gi" for 4GB, "100m" for 100mb of cpu; "" if nothing is likely.
std::string similar_quantity(std::string_view text, std::string_view resource);
// "nvidia.com/gpu" for gpu, nvidia-gpu, nvidia/gpu; "" if it is right, or nothing is likely.
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
void check_labels(const Place& labels);
void check_annotations(const Place& annotations);
// network.cpp
void check_dns(const Place& spec, const Facts& facts);
void check_host_aliases(const Place& spec, const Facts& facts);
void check_hostname(const Place& spec, const Facts& facts);

}  // namespace pod_template
}  // namespace nervex::job
