// job/pod_manifest.h - what do a job's pods and services look like? Templates become manifests.
//
// Where the contract leaves it open:
// - The job's volumes are added to pods of the job's own templates. The AggregatorConfig's template
//   cannot mount what it does not know, and a volume can keep a pod from starting.
// - The job's priorityClassName wins over a template's.
// - nodeName of a template becomes a required node affinity: a pod with a node name would bypass
//   the scheduler and so its gang.
// - The pin is not added to affinity terms without any requirement: these match nothing, and with
//   the pin they would begin to match.
#pragma once

#include <map>
#include <string>

#include "job/names.h"
#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::job {

struct PodOrder {  // one pod to be made
  Role role = Role::kCoordinator;
  Slot slot;
  std::string node;                                // pinned to it; empty: not pinned
  bool has_node_name = false;                      // created on it instead: no scheduler is asked
  std::map<std::string, std::string> annotations;  // which gang's slot it fills; gang/slot.h
  const RequestEntry* entry = nullptr;             // of requested replicas: its resources; borrowed
};

struct PodContext {
  std::string server_url;       // KUBERNETES_SERVER_URL, e.g. nervex-server.nervex-system:8080
  bool server_token = false;    // pods get a token for nervex-server (--server-auth=token)
  bool has_aggregator = false;  // the job has its own: its URL goes into every pod
  bool shared_names = false;    // the namespace's Service names the pods (ServiceMode::kShared)
  kube::SharedJson aggregator_template;  // of the AggregatorConfig, null without one
};

// The PodTemplateSpec a role's pods come from: the job's own, or the AggregatorConfig's. Null:
// none.
const Json& template_of(const Job& job, Role role, const PodContext& context);

// The template with the job's volumes, priority class and an entry's resources, and the restart
// policy Never for a coordinator without one: what the PodGroup's requests, the pod and the
// webhook's dry run are made from. Of a multi-GPU learner's entry every ddp-learner
// gets the cpus and the memory, and of the GPUs the share of `slot`; its aggregator gets nothing.
Json pod_spec(const Job& job, Role role, Slot slot, const RequestEntry* entry,
              const PodContext& context);

// The same with the ports that the main container of such a pod declares.
Json pod_spec_with_ports(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                         const PodContext& context);

// Of labels that all pods of a role carry, and so not their names: {key: value}.
Json labels_of(const Job& job, Role role, const PodContext& context);

// Restricts the pod to `node` on top of what its spec demands already: required node affinity terms
// are ORed, so the pin goes into every one of them. Terms without any demand match no node in
// Kubernetes, and must not begin to.
void pin_to_node(Json& pod_spec, const std::string& node);

// Of a pod that is pinned: a hard topologySpreadConstraint without a nodeAffinityPolicy of its own
// gets Ignore. With Kubernetes' default, Honor, the only domain that counts would be that of the
// one node which the pin leaves, and any number of pods would be spread over it. Now kube-scheduler
// refuses a plan that breaks the constraint, and the planner avoids those nodes the next time. The
// price: nodes that the template's own nodeSelector or affinity leaves out count as domains, too.
// Whoever sets Honor has it.
void count_all_domains(Json& pod_spec);
// Of a topologySpreadConstraint: no pod is bound against it.
bool is_hard_spread(const Json& constraint);

// The port named nervex-port of the main container, else the role's default.
int main_port(const Json& pod_template_or_spec, Role role);
// The index of the main container: named nervex-container, else the first; -1: no containers.
int main_container(const Json& pod_spec);

// The whole Pod: name, labels, annotations, owner, environment, port, pin, scheduler (contract §2).
Json pod_manifest(const Job& job, const PodOrder& order, const PodContext& context);
// -- what gives a pod its name <pod>.<namespace> in DNS?

// A pod of this template can have it from the namespace's Service. Not one whose template has a
// hostname, a subdomain or setHostnameAsFQDN: these stay as they are, and say otherwise.
bool can_share_name(const Json& pod_template_or_spec);

// The namespace's headless Service, of the namespace's name: it has no owner, no ports, of which
// headless Services need none, and no selector, so that its EndpointSlices are the controller's.
Json shared_service_manifest(const std::string& ns);
// The pod's own headless Service, of the pod's name.
Json service_manifest(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                      const PodContext& context);

// "<pod>.<namespace>:<port>": how replicas are named to clients.
std::string replica_url(const std::string& pod, const std::string& ns, int port);

}  // namespace nervex::job
