// kube/model/extender_api.h - which messages do kube-scheduler and an extender exchange?
//
// k8s.io/kube-scheduler/extender/v1 (v0.36): the structs have no JSON tags, so keys are Go names;
// the pod inside is ordinary camelCase JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kube/model/pod.h"

namespace nervex::kube {

struct FilterArgs {
  Pod pod;
  std::vector<std::string> node_names;
};

struct FilterResult {
  std::vector<std::string> node_names;
  // Each node name once, with the reason; preemption does not retry it. One unfit node is enough to
  // make the pod wait.
  std::vector<std::pair<std::string, std::string>> failed_and_unresolvable;
  std::string error;  // "cannot tell yet": error back-off, not unschedulable
  bool operator==(const FilterResult&) const = default;
};

struct BindArgs {
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;
  std::string node;
  bool operator==(const BindArgs&) const = default;
};

// Cost: one pass over the text, no DOM.
Result<FilterArgs> decode_filter_args(std::string_view body, const PodFilter& filter);
Result<BindArgs> decode_bind_args(std::string_view body);
std::string encode_filter_result(const FilterResult& result);
std::string encode_bind_result(const std::string& error);  // "" = bound

}  // namespace nervex::kube
