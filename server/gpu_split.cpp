#include "server/gpu_split.h"

#include <algorithm>
#include <map>

namespace nervex::server {
namespace {

// The most frequent of `node_gpus`, which some node therefore has capacity for; 0 without any.
int most_common(std::span<const int> node_gpus) {
  std::map<int, int> nodes_by_gpus;
  for (const int gpus : node_gpus) {
    if (gpus > 0) ++nodes_by_gpus[gpus];
  }
  int common = 0;
  int nodes = 0;
  for (const auto& [gpus, count] : nodes_by_gpus) {
    if (count < nodes) continue;
    common = gpus;  // in ascending order: of a tie the larger one stays
    nodes = count;
  }
  return common;
}

}  // namespace

std::vector<int> split_gpus(int gpus, std::span<const int> node_gpus) {
  std::vector<int> split;
  if (gpus <= 1) return split;
  const int common = most_common(node_gpus);
  const int each = common == 0 ? gpus : common;
  for (int left = gpus; left > 0; left -= each) split.push_back(std::min(left, each));
  return split;
}

}  // namespace nervex::server
