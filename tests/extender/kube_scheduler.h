// tests/extender/kube_scheduler.h - kube-scheduler in front of the extender: what its plugins say
// of a node, then the extender's filter and bind.
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
    // Its own count of a node says no to the pods of gangs, too. Otherwise the extender alone keeps
    // a node from overflow.
    bool counts_gang_pods = true;
    // A pod that was not bound is tried again later each time.
    bool backs_off = false;
  };

  // It asks `extender`, which is null while that is down.
  KubeScheduler(Cluster& cluster, const std::unique_ptr<ExtenderProcess>& extender, Options options)
      : cluster_(cluster), extender_(extender), options_(options) {}

  // Runs what may end the extender's process.
  std::function<void(const std::function<void()>&)> in_extender = [](const auto& work) { work(); };
  std::function<void()> look = [] {};                    // after each change
  std::function<void(const std::string&)> count;         // what happened, in a few words
  std::function<std::size_t(std::size_t)> choose_one_of  // of so many nodes
      = [](std::size_t) { return std::size_t{0}; };

  // UIDs of the pods that it has to find a node for, and may try now.
  std::vector<std::string> waiting() const;
  bool is_due(const std::string& uid) const;
  void try_pod(const std::string& uid);
  // The binds that were held and have come to their end; how many pods they bound.
  int finish_held();
  // Killed and started again: its connections are closed, and its back-off is forgotten.
  void restart();
  // The extender was killed: it tries the pods again whose binds were held there.
  void lose_extender();

  // The node of a pod that is bound, or whose bind is held; "" if there is none.
  std::string assumed_on(const PodSeen& pod) const;
  // Capacity included. `sees_assumed`: pods whose binds are held count.
  bool plugins_allow(const PodSeen& pod, const NodeSeen& node, bool sees_assumed = true) const;

 private:
  std::string zone_of(const std::string& claim) const;  // "": not bound
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
