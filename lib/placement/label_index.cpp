#include "placement/label_index.h"

#include <unordered_map>

namespace nervex::placement {

LabelIndex index_label(std::string_view key, const Cluster& cluster) {
  LabelIndex out;
  out.domain.reserve(cluster.size());
  std::unordered_map<std::string_view, std::size_t> by_value;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const auto& labels = cluster.node(i).labels;
    const auto label = labels.find(key);
    if (label == labels.end()) {
      out.domain.push_back(LabelIndex::kNone);
      continue;
    }
    const auto [at, is_new] = by_value.emplace(label->second.str(), out.names.size());
    if (is_new) out.names.push_back(at->first);
    out.domain.push_back(at->second);
  }
  return out;
}

}  // namespace nervex::placement
