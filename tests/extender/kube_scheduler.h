// tests/extender/kube_scheduler.h - kube-scheduler in front of the extender: its plugins' checks of
// a node, then the extender's filter and bind.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/cluster.h"
#include "tests/extender/extender_process.h"

namespace nervex::testing {

class KubeScheduler {
 public:
  struct Options {
    // Its own count of a node also rejects pods of gangs. If false, only the extender prevents
    // overcommit.
    bool counts_gang_pods = true;
    // The delay before an unbound pod is retried grows each time.
    bool backs_off = false;
  };

  // Calls `extender`, which is null while that is down.
  KubeScheduler(Cluster& cluster, const std::unique_ptr<ExtenderProcess>& extender, Options options)
      : cluster_(cluster), extender_(extender), options_(options) {}

  // Wraps work that may end the extender's process.
  std::function<void(const std::function<void()>&)> in_extender = [](const auto& work) { work(); };
  std::function<void()> look = [] {};                   // after each change
  std::function<void(const std::string&)> count;        // counts events by a short description
  std::function<std::size_t(std::size_t)> choose_index  // index below the argument
      = [](std::size_t) { return std::size_t{0}; };

  // UIDs of the pods that need a node and may be tried now.
  std::vector<std::string> waiting() const;
  bool is_due(const std::string& uid) const;
  void try_pod(const std::string& uid);
  // Ends held binds that are due; returns the number of bound pods.
  int finish_held();
  // Killed and restarted: its connections are closed, and its back-off is forgotten.
  void restart();
  // The extender was killed: retries the pods whose binds were held there.
  void lose_extender();

  // The node of a bound pod, or of one whose bind is held; "": none.
  std::string assumed_on(const PodSeen& pod) const;
  // Includes capacity. `sees_assumed`: pods whose binds are held count.
  bool plugins_allow(const PodSeen& pod, const NodeSeen& node, bool sees_assumed = true) const;

 private:
  std::string claim_zone(const std::string& claim) const;  // "": not bound
  bool is_port_free(const PodSeen& pod, const NodeSeen& node, bool sees_assumed) const;
  bool is_on(const PodSeen& pod, const NodeSeen& node, bool sees_assumed) const;
  void bind_claims(const PodSeen& pod, const std::string& node);
  void refuse(const PodSeen& pod, const std::string& reason);
  void retry_later(const std::string& uid);
  void report(const std::string& what) const;

  Cluster& cluster_;
  const std::unique_ptr<ExtenderProcess>& extender_;
  const Options options_;
  std::map<std::string, int> tries_;  // by pod UID
  std::map<std::string, MonoTime> not_before_;
};

}  // namespace nervex::testing
