// kube/model/anti_affinity.h - which pods keep apart from others of their kind, or together?
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/model/json.h"

namespace nervex::kube {

// An implicit resource (resources.h): in each group of nodes with one value of the label that the
// name gives, one pod at a time.
inline constexpr std::string_view kPodAntiAffinity = "podAntiAffinity:";

inline constexpr std::string_view kHostname = "kubernetes.io/hostname";

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

// One resource for each of a pod's required anti-affinity terms that selects the pod itself:
// "podAntiAffinity:kubernetes.io/hostname#4fe5...". The hash stands for namespaces and selector, so
// pods with equal terms share it. Left to kube-scheduler, and so left out: terms that select other
// pods alone, pods that a term selects but that do not have it, terms with a selector for the
// labels of namespaces or with matchLabelKeys. `required` is the pod spec's
// affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.
std::vector<std::string> self_anti_affinity(const Json& required, std::string_view ns,
                                            const Labels& labels);

// The same of required affinity terms (affinity.podAffinity):
// "topology.kubernetes.io/zone#4fe5...". Pods with equal ones have to be in one group of nodes. Two
// of the term's pods need not be if other pods match it, too: that is left to kube-scheduler.
std::vector<std::string> self_affinity(const Json& required, std::string_view ns,
                                       const Labels& labels);
// "topology.kubernetes.io/zone" of such a term.
std::string_view topology_key_of_term(std::string_view term);

// "kubernetes.io/hostname" of such a resource; empty for every other one.
std::string_view topology_key_of(std::string_view resource);

}  // namespace nervex::kube
