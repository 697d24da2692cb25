// controller/decide/objects/services.h - which Services give the pods of an attempt their names in
// DNS, and which of them are missing or in the way? Pure.
//
// <pod>.<namespace> resolves in every pod of the namespace. Of an attempt in the mode Shared by the
// namespace's Service: one for all jobs, which no job owns; docs/adr/2026-11-23-shared-services.md.
// Where that cannot be, and for pods that no such Service can name, by a Service of each pod's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "job/pod_manifest.h"

namespace nervex::controller {

// -- what if the namespace's Service cannot be used?

// What to write when the API server has refused the namespace's Service for good: the attempt goes
// on with PerPod. `reason` is kServiceNameTaken or kInvalidServiceName.
Actions fall_back_to_per_pod(const Observed& seen, std::string_view reason,
                             const std::string& message);

// "service rl/rl belongs to another owner"
std::string taken_service(const std::string& ns);

// Sets or removes the condition PerPodServices of a status that goes on.
void report_services(const Round& round, job::Status& status);

// -- the namespace's Service

// Makes it, or restores its spec if that is not ours any more: it is deleted for that and made
// again if it is not even headless, which cannot be changed. Nothing if the attempt's mode is not
// Shared.
Actions shared_service_steps(const Round& round);

// One that is ours in a namespace without any job: to be deleted in exactly this version. A job
// that is created meanwhile makes another one.
std::optional<Target> unused_shared_service(const std::shared_ptr<const Service>& of_namespace,
                                            bool has_jobs);

// -- Services of single pods

// A pod of that role that is made now needs one.
bool needs_own_service(const Round& round, job::Role role, const job::PodContext& context);

// Those that neither a pod has nor one that is wanted will get, and those whose spec is not ours
// any more (they are made again).
std::vector<Target> services_in_the_way(const Round& round);

// Of pods that are there and stay: one that was deleted comes back.
CreateServices missing_services(const Round& round, const std::vector<Target>& leaving);

// Is there a pod that stays and that the namespace's Service names?
bool has_shared_names(const Round& round, const std::vector<Target>& leaving);

}  // namespace nervex::controller
