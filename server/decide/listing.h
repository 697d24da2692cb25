// server/decide/listing.h - which replicas does a client see, at which address? Pure.
//
// A client connects to every address in a listing and waits up to two minutes for it. So a listing
// shows only pods that exist, are not terminating and have not ended, including pending ones. Pods
// that the job has released are hidden, even while they run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/slots.h"
#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::server {

// One job's replicas as clients know them, each as "<pod>.<namespace>:<port>".
struct Listing {
  std::string ns;
  std::string coordinator;
  std::vector<std::string> collectors;
  std::vector<std::string> learners;
  bool operator==(const Listing&) const = default;
};

// The filter of a GET. All absent: all jobs.
struct ListQuery {
  std::optional<std::string> ns;
  // At most one of these; the first two only together with ns.
  std::optional<std::string> coordinator;
  std::optional<std::string> aggregator;
  std::optional<std::string> name;
  bool operator==(const ListQuery&) const = default;
};

using PodPtr = std::shared_ptr<const kube::Pod>;

// The address of a replica. The port comes from its template; for an aggregator from the
// AggregatorConfig.
std::string replica_address(const job::Job& job, job::Role role, const std::string& pod,
                            int aggregator_port);

// The pod in a name or an address "<pod>.<namespace>:<port>".
std::string_view pod_in(std::string_view name_or_url);

// The visible replicas among `pods` of the attempt with that PodGroup UID, in the given order:
// collectors, plain learners, and the aggregators of multi-GPU learners as learners. Excludes
// ddp-learners and the job's own aggregator.
Listing list_replicas(const job::Job& job, std::string_view coordinator,
                      std::string_view pod_group_uid, std::span<const PodPtr> pods,
                      int aggregator_port);

// The learners of one aggregator: for each of its visible ddp-learners among `pods`, one address
// per GPU, by global rank. Empty for the job's own aggregator.
Listing list_aggregator(const job::Job& job, const kube::Pod& aggregator,
                        std::span<const PodPtr> pods);

// The listing of `replica` alone; for a ddp-learner one address per GPU. nullopt: not a replica, or
// not visible.
std::optional<Listing> list_one(const job::Job& job, const kube::Pod& replica, int aggregator_port);

// After an answer that a replica was removed or replaced, later listings must not show it: the
// client would connect again and wait for a pod that is about to end. The job may be older than the
// pods: what it does not know yet is not released. Nothing is released while spec.requests is known
// to be lost (condition RequestsLost). Cost: replicas once, then a look-up.
class Released {
 public:
  explicit Released(const job::Job& job);
  // The pod's slot was removed, or is wanted in a later incarnation. False for pods without a slot.
  bool has(const kube::Pod& pod) const;

 private:
  bool was_removed(job::Role role, int ordinal) const;

  const job::Job& job_;
  bool is_lost_ = false;
  std::map<std::pair<job::Role, int>, int> wanted_;  // incarnations by role and ordinal
};

// The job's `pods` that it has not released.
std::vector<PodPtr> kept_pods(const job::Job& job, std::vector<PodPtr> pods);

}  // namespace nervex::server
