// tests/extender/cluster.h - a cluster with the extender's parts, driven by the test.
#pragma once

#include <string>
#include <vector>

#include "tests/cluster/cluster.h"
#include "tests/extender/extender_process.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {

inline constexpr const char* kNs = kNamespace;

// Nothing is watched: the caches have what the last see...() read, and the replies to the
// extender's writes.
struct ExtenderCluster : Cluster, ExtenderProcess {
  // Logs only errors. Holds binds only as `options` say; uses the real clock, or `clock`.
  explicit ExtenderCluster(const extender::HoldOptions& options = {.largest_gang = 0},
                           bool by_real_clock = true);

  void see_nodes();
  void see_pods();
  void see_groups();
  void see_volumes();  // and claims
  void see_quotas();
  void see();  // all of them

  // NotReady as reported by its kubelet.
  void set_ready(const std::string& node, bool ready) { Cluster::set_ready(node, ready, "False"); }
  void add_group(const std::string& name, const std::vector<Member>& members, int queued = 0,
                 int priority = 0);
  void set_members(const std::string& group, const std::vector<Member>& members);
  gang::PodGroup group(const std::string& name) const;  // the live one
  // "n1 n2", in the order of role and ordinal; "waits"; ends with "!" if committed.
  std::string planned_nodes(const std::string& group,
                            std::string_view gang = gang::kBaseGang) const;

  // The controller's pod for a placement: named <group>-<role>-<ordinal>-<incarnation>.
  std::string add_gang_pod(const gang::PodGroup& group, const gang::Placement& placement);
  // All pods of a gang's plan; returns their names.
  std::vector<std::string> add_gang_pods(const std::string& group,
                                         std::string_view gang = gang::kBaseGang);
  // What is there is seen and planned, the gang's pods are created and seen. Their names.
  std::vector<std::string> plan_and_add_pods(const std::string& group,
                                             std::string_view gang = gang::kBaseGang);
  // With a node: another scheduler has bound it there.
  void add_plain_pod(const std::string& name, const kube::Resources& requests,
                     const std::string& node = "");
  // A pod of a DaemonSet, for that node: it is not planned.
  void add_daemon_pod(const std::string& name, const kube::Resources& requests,
                      const std::string& node);
  kube::Pod pod(const std::string& name) const;  // the live one
  std::string bound_node(const std::string& pod_name) const { return pod(pod_name).node; }

  kube::FilterResult filter(const std::string& pod_name,
                            const std::vector<std::string>& node_names) const;
  // The error's message; "" if it was bound.
  std::string bind(const std::string& pod_name, const std::string& node);
};

}  // namespace nervex::testing
