#include "server/decide/gpu_split.h"

#include <algorithm>
#include <map>

#include "kube/model/node.h"
#include "kube/model/quantity.h"

namespace nervex::server {
namespace {

// The most frequent of `node_gpus`, so that some node has the capacity; 0 if empty.
int most_common(std::span<const int> node_gpus) {
  std::map<int, int> nodes_by_gpus;
  for (const int gpus : node_gpus) {
    if (gpus > 0) ++nodes_by_gpus[gpus];
  }
  int common = 0;
  int nodes = 0;
  for (const auto& [gpus, count] : nodes_by_gpus) {
    if (count < nodes) continue;
    common = gpus;  // in ascending order: ties go to the larger
    nodes = count;
  }
  return common;
}

}  // namespace

Result<std::int64_t> count_gpus(const RoleRequest& request) {
  return request.gpus.empty() ? Result<std::int64_t>(0)
                              : kube::parse_quantity(request.gpus, kube::Scale::kOne);
}

Result<GpuNode> decode_gpu_node(std::string_view text) {
  auto node = kube::decode_node(text);
  if (!node) return node.error();
  const auto gpus = node->allocatable.get("nvidia.com/gpu");
  if (gpus <= 0) return Error{Code::kNotFound, "node " + node->name + " has no GPU"};
  const auto most = static_cast<std::int64_t>(kMaxGpusPerLearner);
  return GpuNode{std::move(node->name), std::move(node->uid), std::move(node->resource_version),
                 static_cast<int>(std::min(gpus, most)), node->unschedulable};
}

std::vector<int> count_gpus(std::span<const std::shared_ptr<const GpuNode>> nodes) {
  std::vector<int> open, all;
  for (const auto& node : nodes) {
    all.push_back(node->gpus);
    if (!node->unschedulable) open.push_back(node->gpus);
  }
  return open.empty() ? all : open;
}

std::vector<int> split_gpus(int gpus, std::span<const int> node_gpus) {
  std::vector<int> split;
  if (gpus <= 1) return split;
  const int common = most_common(node_gpus);
  const int each = common == 0 ? gpus : common;
  for (int left = gpus; left > 0; left -= each) split.push_back(std::min(left, each));
  return split;
}

}  // namespace nervex::server
