// placement/label_index.h - which nodes have the same value of a label?
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "placement/cluster.h"

namespace nervex::placement {

// Nodes with one value of a label are a domain. Domains are numbered in the order of their first
// node.
struct LabelIndex {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> domain;      // by node; kNone: it lacks the label
  std::vector<std::string_view> names;  // by domain: the value, of a label of the cluster
};
// Cost: one look-up for each node.
LabelIndex index_label(std::string_view key, const Cluster& cluster);

}  // namespace nervex::placement
