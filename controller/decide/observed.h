// controller/decide/observed.h - all that a decision about one job may depend on; observe.h gathers
// it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/decide/objects.h"
#include "controller/decide/priority.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::controller {

template <typename T>
using Ptrs = std::vector<std::shared_ptr<const T>>;

// From an attempt that failed to the next one; doubles with each failure. Also between the starts
// of attempts that the cluster takes back, which never doubles.
inline constexpr std::chrono::seconds kRetryDelay{10};

struct Observed {
  job::Job job;  // as stored, defaults filled in
  // Those whose controller reference holds this job's uid, sorted by name.
  Ptrs<kube::Pod> pods;
  Ptrs<Service> services;
  Ptrs<gang::PodGroup> pod_groups;
  std::shared_ptr<const AggregatorConfig> aggregator_config;  // null: there is none
  std::string server_url;                                     // what pods are told
  bool server_token = false;                                  // pods get a token for it
  // The attempt has run, and a live read just now found no coordinator pod of it.
  bool coordinator_is_gone = false;
  // Then: its last state that a watch told, if that said why it had to go; null if not.
  std::shared_ptr<const kube::Pod> last_coordinator;
  // Then: a live read just now found its node gone, or not ready.
  bool coordinator_node_is_lost = false;
  // The attempt has run, and a live read just now found no PodGroup of it.
  bool pod_group_is_gone = false;
  // Nothing of the attempt was made yet, and this object of a deleted job of the same name still
  // has a name that it needs, "pod dqn-coordinator"; "" if none has.
  std::string predecessor;
  Priority priority;  // of the job, by the PriorityClasses that there are now
  std::chrono::milliseconds retry_delay = kRetryDelay;
  SysTime now{};  // the only clock
};

}  // namespace nervex::controller
