// job/pod_manifest.h - what do a job's pods and services look like? Templates become manifests.
//
// Where the contract leaves it open:
// - The job's volumes are added only to pods of the job's own templates. The AggregatorConfig's
//   template cannot mount unknown volumes, and a volume can prevent a pod from starting.
// - The job's priorityClassName wins over a template's.
// - nodeName of a template becomes a required node affinity: a pod with a node name would bypass
//   the scheduler and so its gang.
// - The pin is not added to affinity terms without requirements: these match nothing, and with the
//   pin they would start to match.
#pragma once

#include <map>
#include <string>

#include "job/names.h"
#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::job {

struct PodOrder {  // one pod to create
  Role role = Role::kCoordinator;
  Slot slot;
  std::string node;                                // pinned to it; empty: not pinned
  bool has_node_name = false;                      // created on that node, without a scheduler
  std::map<std::string, std::string> annotations;  // which gang's slot it fills; gang/slot.h
  const RequestEntry* entry = nullptr;             // of a requested replica: resources; borrowed
};

struct PodContext {
  std::string server_url;       // KUBERNETES_SERVER_URL, e.g. nervex-server.nervex-system:8080
  bool server_token = false;    // pods get a token for nervex-server (--server-auth=token)
  bool has_aggregator = false;  // the job has its own aggregator, whose URL goes into every pod
  bool shared_names = false;    // the namespace's Service names the pods (ServiceMode::kShared)
  kube::SharedJson aggregator_template;  // of the AggregatorConfig, null without one
};

// The PodTemplateSpec for a role's pods: the job's own, or the AggregatorConfig's. Null: none.
const Json& role_template(const Job& job, Role role, const PodContext& context);

// The template with the job's volumes and priority class, an entry's resources, and restart policy
// Never for a coordinator that sets none. The PodGroup's requests, the pod and the webhook's dry
// run use it. For a multi-GPU learner's entry, each ddp-learner gets the cpus, the memory and its
// share of the GPUs by `slot`; the aggregator gets nothing.
Json pod_spec(const Job& job, Role role, Slot slot, const RequestEntry* entry,
              const PodContext& context);

// The same with the ports that the controller declares on the main container.
Json pod_spec_with_ports(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                         const PodContext& context);

// Labels shared by all base replicas or all requested replicas of a role, so without pod names:
// {key: value}.
Json make_pod_labels(const Job& job, Role role, bool is_requested, const PodContext& context);

// Restricts the pod to `node` in addition to its own requirements. Required node affinity terms are
// ORed, so each gets the pin. Terms without requirements match no node in Kubernetes and must not
// start to match.
void pin_to_node(Json& pod_spec, const std::string& node);

// For a pinned pod: kube-scheduler accepts its node and ignores its topologySpreadConstraints, as
// the plan keeps them (placement/spread.h). With nodeAffinityPolicy Honor, also the default, the
// node's own domain is the only one that kube-scheduler counts, and with minDomains it would count
// an empty one beside it. With Ignore it would check pod by pod, in the order in which pods happen
// to reach it.
void leave_spread_to_planner(Json& pod_spec);

// The port named nervex-port of the main container, else the role's default.
int main_port(const Json& pod_template_or_spec, Role role);
// The index of the main container: named nervex-container, else the first; -1: no containers.
int main_container(const Json& pod_spec);
// The kubelet starts a main container that failed again: by its own restartPolicy, else the pod's.
// An absent policy counts as Never, which the coordinator gets.
bool restarts_by_policy(const Json& pod_spec);
// The same, or a rule of restartPolicyRules (Kubernetes 1.35) does so after some exit codes: of the
// main container, or of another one that restarts all containers.
bool may_restart_in_place(const Json& pod_spec);

// The whole Pod: name, labels, annotations, owner, environment, port, pin, scheduler (contract §2).
Json pod_manifest(const Job& job, const PodOrder& order, const PodContext& context);
// -- what gives a pod its name <pod>.<namespace> in DNS?

// A pod of this template can get its name from the namespace's Service. False if the template sets
// hostname, subdomain or setHostnameAsFQDN, which are kept.
bool can_share_name(const Json& pod_template_or_spec);

// The namespace's headless Service, named after the namespace. It has no owner, no ports (headless
// Services need none) and no selector, so the controller manages its EndpointSlices.
Json shared_service_manifest(const std::string& ns);
// The pod's own headless Service, named after the pod.
Json service_manifest(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                      const PodContext& context);

// "<pod>.<namespace>:<port>": a replica's address in the API.
std::string replica_url(const std::string& pod, const std::string& ns, int port);

}  // namespace nervex::job
