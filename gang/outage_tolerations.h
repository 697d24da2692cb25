// gang/outage_tolerations.h - for how long does a pod's template tolerate an outage of its node?
//
// A pod's own list cannot tell: admission adds 300 s (or what the API server's flags say) for both
// taints to every pod. So the controller writes on the pod what the template says. It stays there
// for as long as the pod does, also when its PodGroup is deleted before it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/model/json.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace nervex::gang {

inline constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
// Values: seconds, or kToleratesAlways.
inline constexpr std::string_view kToleratesNotReadyAnnotation =
    "nervex.sensetime.com/tolerates-not-ready-seconds";
inline constexpr std::string_view kToleratesUnreachableAnnotation =
    "nervex.sensetime.com/tolerates-unreachable-seconds";
inline constexpr std::string_view kToleratesAlways = "always";

// Of spec.tolerations of a template, those that name one of the taints by key and apply to its
// effect NoExecute; of several for one taint the first, as Kubernetes' taint manager does.
// `operator: Exists` without a key names none. Empty for nearly all templates.
std::map<std::string, std::string> outage_annotations(const Json& tolerations);

// What the pod's annotations say of a node that is in that state. nullopt: nothing;
// std::chrono::seconds::max(): any outage.
std::optional<std::chrono::seconds> tolerated_outage(const kube::Pod& pod, const kube::Node& node);

// The annotation keys, for kube::PodFilter.
std::vector<std::string> outage_annotation_keys();

}  // namespace nervex::gang
