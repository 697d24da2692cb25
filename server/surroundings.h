// server/surroundings.h - what of the cluster decides how a multi-GPU learner is made? Pure.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/aggregator_config.h"

namespace nervex::server {

struct GpuNode {
  std::string name;
  std::string uid;
  std::string resource_version;
  int gpus = 0;  // allocatable, above zero
  bool unschedulable = false;
  bool operator==(const GpuNode&) const = default;
};

// kNotFound: the node has no GPU, and is of no interest.
Result<GpuNode> decode_gpu_node(std::string_view text);

using job::AggregatorConfig;

struct ClusterView {
  std::vector<int> node_gpus;          // as split_gpus() takes them
  std::optional<int> aggregator_port;  // none: there is no AggregatorConfig
};

// The GPUs of every node that takes new pods. A node that is not ready counts: it comes back, and a
// learner keeps its split. Where all are cordoned they all count, for no other guess is better.
std::vector<int> gpus_of(std::span<const std::shared_ptr<const GpuNode>> nodes);

}  // namespace nervex::server
