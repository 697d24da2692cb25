// server/decide/gpu_split.h - over which pods are a learner's GPUs spread? Pure.
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

// The largest learner: each of its GPUs has a port of its own, and schemas/nervexjob.json holds as
// many items of a split.
inline constexpr int kMaxGpusPerLearner = 1024;

// Of each replica. 0: as the template has it. kInvalid for what parse_add_request() would have
// refused.
Result<std::int64_t> gpus_of(const RoleRequest& request);

// What is kept of a node.
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

// The GPUs of every node that takes new pods. A node that is not ready counts: it comes back, and a
// learner keeps its split. Where all are cordoned they all count, for no other guess is better.
std::vector<int> gpus_of(std::span<const std::shared_ptr<const GpuNode>> nodes);

// What of the cluster decides how a multi-GPU learner is made.
struct ClusterView {
  std::vector<int> node_gpus;          // as split_gpus() takes them
  std::optional<int> aggregator_port;  // none: there is no AggregatorConfig
};

// GPUs of each pod of one learner, in the order of their ranks: pods as large as most nodes are,
// then the rest. `node_gpus` are the GPUs of each node that has any, in any order; of sizes that
// are equally frequent the larger one counts. Without nodes one pod has all, as nothing better is
// known. Empty for at most one GPU: a plain learner. The split is kept for the learner's life.
std::vector<int> split_gpus(int gpus, std::span<const int> node_gpus);

}  // namespace nervex::server
