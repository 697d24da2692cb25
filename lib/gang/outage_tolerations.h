// gang/outage_tolerations.h - how long does a pod's template tolerate an outage of its node?
//
// The pod's own tolerations cannot tell: admission adds 300 s (or the value of the API server's
// flags) for both taints to every pod. So the controller writes the template's value on the pod.
// The value survives on the pod when the PodGroup is deleted first.
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

// Selects from a template's spec.tolerations those that name one of the taints by key and apply to
// effect NoExecute. If several name one taint, the first counts, as in Kubernetes' taint manager.
// `operator: Exists` without a key names none. Empty for nearly all templates.
std::map<std::string, std::string> outage_annotations(const Json& tolerations);

// The outage that the pod's annotations tolerate for a node in that state. nullopt: no annotation;
// std::chrono::seconds::max(): any outage.
std::optional<std::chrono::seconds> tolerated_outage(const kube::Pod& pod, const kube::Node& node);

// The annotation keys, for kube::PodFilter.
std::vector<std::string> outage_annotation_keys();

}  // namespace nervex::gang
