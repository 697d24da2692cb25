// cli/top/device_use.h - how many accelerators do jobs want, and how many are free? Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/text.h"
#include "gang/pod_group.h"
#include "kube/model/json.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace nervex::cli {

// Sums over one reading of nodes, pods and PodGroups, of devices (extended resources such as
// nvidia.com/gpu). Keeps no objects: memory is linear in nodes and namespaces.
class DeviceUse {
 public:
  void add_node(const kube::Node& node);
  void add_pod(const kube::Pod& pod);
  // Of a job that has not ended.
  void add_group(const gang::PodGroup& group);

  struct NodeRow {
    std::string node;
    std::string resource;
    std::int64_t capacity = 0;  // allocatable
    std::int64_t used = 0;      // by pods of all kinds
    std::string state;          // "", "NotReady", "SchedulingDisabled"
    bool operator==(const NodeRow&) const = default;
  };
  struct NamespaceRow {
    std::string ns;
    std::string resource;
    std::int64_t wanted = 0;  // by jobs that have not ended
    std::int64_t placed = 0;  // of these, with a node in the plan
    std::int64_t used = 0;    // by pods of all kinds
    bool operator==(const NamespaceRow&) const = default;
  };
  struct QueueRow {
    std::string queue;  // "": the root
    std::string resource;
    std::int64_t wanted = 0;
    std::int64_t placed = 0;
    bool operator==(const QueueRow&) const = default;
  };
  // By name. Nodes, namespaces and queues without devices have no row.
  std::vector<NodeRow> nodes() const;
  std::vector<NamespaceRow> namespaces() const;
  std::vector<QueueRow> queues() const;

 private:
  using Key = std::pair<std::string, std::string>;  // node, namespace or queue; resource
  std::map<Key, NodeRow> nodes_;
  std::map<Key, NamespaceRow> namespaces_;
  std::map<Key, QueueRow> queues_;
  std::map<Key, std::int64_t> used_on_;  // pods may be read before their node

  NamespaceRow& namespace_row(const std::string& ns, const std::string& resource);
};

// Whether the pods were read; without them nothing is known to be used or free.
struct TopColumns {
  bool has_pods = true;
};
Rows node_table(const DeviceUse& use, const TopColumns& columns);
Rows queue_table(const DeviceUse& use);
Rows namespace_table(const DeviceUse& use, const TopColumns& columns);
Json to_json(const DeviceUse& use, const TopColumns& columns);

}  // namespace nervex::cli
