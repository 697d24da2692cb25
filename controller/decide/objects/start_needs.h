// controller/decide/objects/start_needs.h - what do a waiting job's pods need beside capacity that
// no dry run asks for? Pure.
//
// The API server creates a pod whose resource claim does not exist, or whose required affinity
// matches no pod; kube-scheduler then keeps it back. So the same thread that sends the dry runs
// reads these objects. What cannot be told from here is left to kube-scheduler: affinity terms with
// several namespaces, a selector of namespaces, or matchLabelKeys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "controller/decide/objects/pod_dry_run.h"
#include "gang/pod_group.h"

namespace nervex::controller {

// A read that shows whether the need is met.
struct StartNeed {
  std::string path;            // of a GET: an object, or a list of pods
  bool is_list = false;        // one of the list has to run on a node
  gang::StartBlocker blocker;  // if it is not met
};

// Each is a request, and others wait for their answers: what is cut off counts as met.
inline constexpr std::ptrdiff_t kMostStartNeeds = 16;
// Claims and claim templates first. Affinity to pods of the same gang counts as met. `pods`: of
// pods_to_dry_run(), all in the namespace `ns`.
std::vector<StartNeed> list_start_needs(const std::vector<DryRunPod>& pods, std::string_view ns);

// The API server's answer shows that the need is not met. False if it shows nothing: the kind is
// not served, the read is not allowed, or the list is cut off.
bool is_unmet(const StartNeed& need, const Result<std::string>& reply);

}  // namespace nervex::controller
