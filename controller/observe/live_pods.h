// controller/observe/live_pods.h - which pods does a job have, as the API server itself says?
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "job/types.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::controller {

// So few pods are asked for by name; more are looked for in a list of all.
inline constexpr std::size_t kFewNames = 16;

// Gives `on_pod` each pod whose controller is the job, by its uid. Read in pages: in memory there
// is never more than one page of text and one pod, however many and large they are. Costs the API
// server a look at all pods of the namespace that carry the job's label. After an Error some pods
// may have been given.
Result<Nothing> for_each_live_pod(kube::Api& api, const job::Job& job,
                                  const std::function<void(kube::Pod pod)>& on_pod);

// The pod of that name; nullopt if there is none whose controller is the job.
Result<std::optional<kube::Pod>> live_pod(kube::Api& api, const job::Job& job,
                                          const std::string& name);

}  // namespace nervex::controller
