// server/decide/listing.h - which replicas does a client see, under which address? Pure.
//
// A client connects to every address that it gets and waits up to two minutes for it. So only pods
// that exist, are not terminating and have not ended are shown; pending ones are. And no pod is
// that the job has let go already, though it still runs.
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

// What a GET selects. Everything absent: all jobs.
struct ListQuery {
  std::optional<std::string> ns;
  // At most one of these; the first two only together with ns.
  std::optional<std::string> coordinator;
  std::optional<std::string> aggregator;
  std::optional<std::string> name;
  bool operator==(const ListQuery&) const = default;
};

using PodPtr = std::shared_ptr<const kube::Pod>;

// The address of a replica: the port is the one that its template declares, and that of an
// aggregator the AggregatorConfig's.
std::string replica_address(const job::Job& job, job::Role role, const std::string& pod,
                            int aggregator_port);

// The pod that a name or an address "<pod>.<namespace>:<port>" means.
std::string_view pod_in(std::string_view name_or_url);

// The shown replicas among `pods` that belong to the attempt with that PodGroup UID, in the order
// given: collectors, plain learners, and the aggregators of multi-GPU learners as learners. Neither
// ddp-learners nor the aggregator of the job itself.
Listing list_replicas(const job::Job& job, std::string_view coordinator,
                      std::string_view pod_group_uid, std::span<const PodPtr> pods,
                      int aggregator_port);

// The learners of one aggregator: of each shown ddp-learner of its own among `pods` one address per
// GPU, by global rank. None of the aggregator of the job itself.
Listing list_aggregator(const job::Job& job, const kube::Pod& aggregator,
                        std::span<const PodPtr> pods);

// The listing of `replica` alone, a ddp-learner's with one address per GPU. nullopt: it is no
// replica, or not shown.
std::optional<Listing> list_one(const job::Job& job, const kube::Pod& replica, int aggregator_port);

// A client that was answered that a replica is removed, or replaced, must not see it in a listing
// a moment later: it would connect again, and wait for a pod that is about to go. What the job,
// which may be older than the pods, does not know yet is not released; nor is anything while
// spec.requests is known to be lost (condition RequestsLost). Cost: replicas once, then a look-up.
class Released {
 public:
  explicit Released(const job::Job& job);
  // The pod's slot was removed, or is wanted in a later incarnation. False for what has no slot.
  bool has(const kube::Pod& pod) const;

 private:
  bool was_removed(job::Role role, int ordinal) const;

  const job::Job& job_;
  bool is_lost_ = false;
  std::map<std::pair<job::Role, int>, int> wanted_;  // incarnations by role and ordinal
};

// Those of the job's `pods` that it has not released.
std::vector<PodPtr> kept_pods(const job::Job& job, std::vector<PodPtr> pods);

}  // namespace nervex::server
