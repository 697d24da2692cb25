// server/listing.h - which replicas of a job does a client see, and under which address? Pure.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "job/slots.h"
#include "job/types.h"
#include "kube/model/pod.h"
#include "server/envelope.h"

namespace nervex::server {

using PodPtr = std::shared_ptr<const kube::Pod>;

// A client connects to what it is told and waits up to two minutes for each address, so only pods
// that exist, are not terminating and have not ended are shown; pending ones are.
bool is_shown(const kube::Pod& pod);

// The address of a replica: the port is the one that its template declares, and that of an
// aggregator the AggregatorConfig's.
std::string replica_address(const job::Job& job, job::Role role, const std::string& pod,
                            int aggregator_port);

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

}  // namespace nervex::server
