// controller/decide/objects/services.h - which Services give the pods of an attempt their DNS
// names, and which of them are missing or must be deleted? Pure.
//
// <pod>.<namespace> resolves in every pod of the namespace. In the mode Shared the namespace's
// Service provides it: one for all jobs, owned by no job; docs/adr/2026-11-23-shared-services.md.
// Otherwise, and for pods that such a Service cannot name, each pod has its own Service.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "job/pod_manifest.h"

namespace nervex::controller {

// -- what happens if the namespace's Service cannot be used?

// What to write when the API server has permanently refused the namespace's Service: the attempt
// continues with PerPod. `reason` is kServiceNameTaken or kInvalidServiceName.
Actions fall_back_to_per_pod(const Observed& seen, std::string_view reason,
                             const std::string& message);

// "service rl/rl belongs to another owner"
std::string taken_service(const std::string& ns);

// Sets or removes the condition PerPodServices of a job that continues.
void report_services(const Round& round, job::Status& status);

// -- the namespace's Service

// Creates it, or restores its spec. If it is not even headless, which cannot be changed, it is
// deleted and created again. Nothing unless the attempt's mode is Shared.
Actions shared_service_steps(const Round& round);

// Ours, in a namespace without jobs: to be deleted in exactly this version. A job that is created
// meanwhile creates another one.
std::optional<Target> unused_shared_service(const std::shared_ptr<const Service>& of_namespace,
                                            bool has_jobs);

// -- Services of single pods

// A pod of that role, created now, needs one.
bool needs_own_service(const Round& round, job::Role role, const job::PodContext& context);

// Services of no existing or wanted pod, and those whose spec was changed (they are created again).
std::vector<Target> services_in_the_way(const Round& round);

// For existing pods that stay: restores a deleted Service.
CreateServices missing_services(const Round& round, const std::vector<Target>& leaving);

// Is there a pod that stays and that the namespace's Service names?
bool has_shared_names(const Round& round, const std::vector<Target>& leaving);

}  // namespace nervex::controller
