// server/decide/gpu_split.h - how are a learner's GPUs split into pods? Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/decide/change.h"

namespace nervex::server {

// The largest learner: each GPU needs its own port, and schemas/nervexjob.json limits the split to
// as many items.
inline constexpr int kMaxGpusPerLearner = 1024;

// GPUs of each replica. 0: the template's. kInvalid for values that parse_add_request() refuses.
Result<std::int64_t> count_gpus(const RoleRequest& request);

// The stored part of a node.
struct GpuNode {
  std::string name;
  std::string uid;
  std::string resource_version;
  int gpus = 0;  // allocatable, above zero
  bool unschedulable = false;
  bool operator==(const GpuNode&) const = default;
};

// kNotFound: the node has no GPU and is not stored.
Result<GpuNode> decode_gpu_node(std::string_view text);

// The GPUs of every node that accepts new pods. Includes unready nodes: they return, and a learner
// keeps its split. If all are cordoned, all count, for lack of a better guess.
std::vector<int> count_gpus(std::span<const std::shared_ptr<const GpuNode>> nodes);

// The parts of the cluster that decide how a multi-GPU learner is built.
struct ClusterView {
  std::vector<int> node_gpus;          // as split_gpus() takes them
  std::optional<int> aggregator_port;  // none: no AggregatorConfig
};

// GPUs of each pod of one learner, in rank order: pods as large as most nodes, then the rest.
// `node_gpus`: GPUs of each node that has any, in any order; of equally frequent sizes the larger
// wins. Without nodes one pod has all GPUs. Empty for at most one GPU: a plain learner. The split
// is kept for the learner's life.
std::vector<int> split_gpus(int gpus, std::span<const int> node_gpus);

}  // namespace nervex::server
