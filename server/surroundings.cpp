#include "server/surroundings.h"

#include <algorithm>

#include "kube/model/node.h"
#include "server/gpu_split.h"

namespace nervex::server {

Result<GpuNode> decode_gpu_node(std::string_view text) {
  auto node = kube::decode_node(text);
  if (!node) return node.error();
  const auto gpus = node->allocatable.get("nvidia.com/gpu");
  if (gpus <= 0) return Error{Code::kNotFound, "node " + node->name + " has no GPU"};
  const auto most = static_cast<std::int64_t>(kMaxGpusPerLearner);
  return GpuNode{std::move(node->name), std::move(node->uid), std::move(node->resource_version),
                 static_cast<int>(std::min(gpus, most)), node->unschedulable};
}

std::vector<int> gpus_of(std::span<const std::shared_ptr<const GpuNode>> nodes) {
  std::vector<int> open, all;
  for (const auto& node : nodes) {
    all.push_back(node->gpus);
    if (!node->unschedulable) open.push_back(node->gpus);
  }
  return open.empty() ? all : open;
}

}  // namespace nervex::server
