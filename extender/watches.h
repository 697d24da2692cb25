// extender/watches.h - what does the extender watch, and who is told? Wiring, no decisions.
#pragma once

#include <string>

#include "extender/planner.h"
#include "extender/plans.h"
#include "kube/api.h"
#include "kube/reflector.h"
#include "kube/store.h"

namespace nervex::extender {

// What a reflector does with each kind: into the store, told to `plans`, and `planner` woken if it
// matters.
kube::ReflectorSink node_sink(kube::Store<kube::Node>& store, Plans& plans, Planner& planner);
kube::ReflectorSink pod_sink(kube::Store<kube::Pod>& store, Plans& plans, Planner& planner);
kube::ReflectorSink group_sink(kube::Store<gang::PodGroup>& store, Plans& plans, Planner& planner);

// Runs three threads from start() until it is destroyed. All arguments outlive it.
class Watches {
 public:
  Watches(kube::Api& api, kube::Store<kube::Node>& nodes, kube::Store<kube::Pod>& pods,
          kube::Store<gang::PodGroup>& groups, Plans& plans, Planner& planner);

  void start();
  // "" once everything was listed, else what is missing. Thread-safe.
  std::string not_synced() const;

  // For a new leader's planner, since what the one before it wrote may not have come through our
  // watches: asks that every cache be brought up to date, and returns. Thread-safe.
  void refresh();
  // "" if nobody asked or all are up to date, else which one is not, and why. Thread-safe.
  std::string not_fresh() const;

 private:
  kube::Reflector nodes_;
  kube::Reflector pods_;
  kube::Reflector groups_;
};

}  // namespace nervex::extender
