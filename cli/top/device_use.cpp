#include "cli/top/device_use.h"

#include <algorithm>

#include "placement/capacity.h"

namespace nervex::cli {
namespace {

std::string node_state(const kube::Node& node) {
  if (!node.ready) return "NotReady";
  return node.unschedulable ? "SchedulingDisabled" : "";
}

std::string text(std::int64_t number) { return std::to_string(number); }

}  // namespace

void DeviceUse::add_node(const kube::Node& node) {
  for (const auto& [resource, amount] : node.allocatable.amounts()) {
    if (!placement::is_device(resource)) continue;
    nodes_[{node.name, resource}] = {node.name, resource, amount, 0, node_state(node)};
  }
}

void DeviceUse::add_pod(const kube::Pod& pod) {
  if (!pod.occupies()) return;
  for (const auto& [resource, amount] : pod.requests.amounts()) {
    if (!placement::is_device(resource)) continue;
    used_on_[{pod.node.str(), resource}] += amount;
    namespace_row(pod.meta.ns.str(), resource).used += amount;
  }
}

void DeviceUse::add_group(const gang::PodGroup& group) {
  for (const auto& set : gang::all_sets(group.spec.gangs)) {
    for (const auto& [resource, amount] : set.shape.requests.amounts()) {
      if (!placement::is_device(resource)) continue;
      const auto placed = std::count_if(set.slots.begin(), set.slots.end(), [&](gang::SlotId slot) {
        return gang::find_placement(group.status, set.role, slot) != nullptr;
      });
      NamespaceRow& row = namespace_row(group.meta.ns.str(), resource);
      const std::int64_t wanted = amount * static_cast<std::int64_t>(set.slots.size());
      row.wanted += wanted;
      row.placed += amount * placed;
      const std::string& name = group.status.queue.name;
      QueueRow& queue = queues_[{name, resource}];
      queue.queue = name;
      queue.resource = resource;
      queue.wanted += wanted;
      queue.placed += amount * placed;
    }
  }
}

DeviceUse::NamespaceRow& DeviceUse::namespace_row(const std::string& ns,
                                                  const std::string& resource) {
  NamespaceRow& row = namespaces_[{ns, resource}];
  row.ns = ns;
  row.resource = resource;
  return row;
}

std::vector<DeviceUse::NodeRow> DeviceUse::nodes() const {
  std::vector<NodeRow> rows;
  for (const auto& [key, row] : nodes_) {
    rows.push_back(row);
    if (const auto used = used_on_.find(key); used != used_on_.end())
      rows.back().used = used->second;
  }
  return rows;
}

std::vector<DeviceUse::NamespaceRow> DeviceUse::namespaces() const {
  std::vector<NamespaceRow> rows;
  for (const auto& [key, row] : namespaces_) rows.push_back(row);
  return rows;
}

std::vector<DeviceUse::QueueRow> DeviceUse::queues() const {
  std::vector<QueueRow> rows;
  for (const auto& [key, row] : queues_) rows.push_back(row);
  return rows;
}

Rows node_table(const DeviceUse& use, const TopColumns& columns) {
  Rows rows = {{"NODE", "RESOURCE", "CAPACITY"}};
  if (columns.has_pods) rows[0].insert(rows[0].end(), {"USED", "FREE"});
  rows[0].emplace_back("STATE");
  for (const auto& node : use.nodes()) {
    rows.push_back({printable(node.node), printable(node.resource), text(node.capacity)});
    if (columns.has_pods) {
      rows.back().push_back(text(node.used));
      rows.back().push_back(text(node.capacity - node.used));
    }
    rows.back().push_back(node.state.empty() ? "Ready" : node.state);
  }
  return rows;
}

Rows queue_table(const DeviceUse& use) {
  Rows rows = {{"QUEUE", "RESOURCE", "WANTED", "PLACED", "WAITING"}};
  for (const auto& queue : use.queues()) {
    rows.push_back({queue.queue.empty() ? "(root)" : printable(queue.queue),
                    printable(queue.resource), text(queue.wanted), text(queue.placed),
                    text(queue.wanted - queue.placed)});
  }
  return rows;
}

Rows namespace_table(const DeviceUse& use, const TopColumns& columns) {
  Rows rows = {{"NAMESPACE", "RESOURCE", "WANTED", "PLACED", "WAITING"}};
  if (columns.has_pods) rows[0].emplace_back("USED");
  for (const auto& ns : use.namespaces()) {
    rows.push_back({printable(ns.ns), printable(ns.resource), text(ns.wanted), text(ns.placed),
                    text(ns.wanted - ns.placed)});
    if (columns.has_pods) rows.back().push_back(text(ns.used));
  }
  return rows;
}

Json to_json(const DeviceUse& use, const TopColumns& columns) {
  Json nodes = Json::array();
  for (const auto& node : use.nodes()) {
    Json item = {{"node", node.node}, {"resource", node.resource}, {"capacity", node.capacity}};
    if (columns.has_pods) {
      item["used"] = node.used;
      item["free"] = node.capacity - node.used;
    }
    if (!node.state.empty()) item["state"] = node.state;
    nodes.push_back(std::move(item));
  }
  Json namespaces = Json::array();
  for (const auto& ns : use.namespaces()) {
    Json item = {{"namespace", ns.ns},
                 {"resource", ns.resource},
                 {"wanted", ns.wanted},
                 {"placed", ns.placed},
                 {"waiting", ns.wanted - ns.placed}};
    if (columns.has_pods) item["used"] = ns.used;
    namespaces.push_back(std::move(item));
  }
  Json queues = Json::array();
  for (const auto& queue : use.queues()) {
    queues.push_back({{"queue", queue.queue},
                      {"resource", queue.resource},
                      {"wanted", queue.wanted},
                      {"placed", queue.placed},
                      {"waiting", queue.wanted - queue.placed}});
  }
  return {{"nodes", std::move(nodes)},
          {"queues", std::move(queues)},
          {"namespaces", std::move(namespaces)}};
}

}  // namespace nervex::cli
