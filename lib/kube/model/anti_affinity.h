// kube/model/anti_affinity.h - which pods must run apart from, or together with, their own kind?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/model/json.h"
#include "kube/model/label_selector.h"

namespace nervex::kube {

// An implicit resource (resources.h): one pod at a time in each group of nodes with the same value
// of the label in its name.
inline constexpr std::string_view kPodAntiAffinity = "podAntiAffinity:";

inline constexpr std::string_view kHostname = "kubernetes.io/hostname";

// One resource for each required anti-affinity term that selects the pod itself:
// "podAntiAffinity:kubernetes.io/hostname#4fe5...". The hash covers namespaces and selector, so
// pods with equal terms share it. Omitted, and left to kube-scheduler: terms that select only other
// pods, selected pods that lack the term, terms with a namespace selector or matchLabelKeys.
// `required` is the pod spec's
// affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.
std::vector<std::string> self_anti_affinity(const Json& required, std::string_view ns,
                                            const Labels& labels);

// The same for required affinity terms (affinity.podAffinity):
// "topology.kubernetes.io/zone#4fe5...". Pods with equal terms must run in one group of nodes. If
// other pods match the term, two of its pods may be apart: kube-scheduler decides.
std::vector<std::string> self_affinity(const Json& required, std::string_view ns,
                                       const Labels& labels);
// "topology.kubernetes.io/zone" from such a term.
std::string_view topology_key_of_term(std::string_view term);

// "kubernetes.io/hostname" from such a resource; empty for any other resource.
std::string_view parse_topology_key(std::string_view resource);

}  // namespace nervex::kube
