// kube/metrics.h - which client-go metrics do client, queue and election have?
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/metrics.h"
#include "kube/client.h"
#include "kube/leader/leadership.h"
#include "kube/work_queue.h"

namespace nervex::kube {

// rest_client_requests_total and rest_client_request_duration_seconds, for a Client of `url`.
RequestObserver request_observer(Metrics& metrics, const std::string& url);

// workqueue_*, read from the queue at each scrape. All arguments, here and below, are borrowed
// until the last Metrics::text().
void add_queue_metrics(Metrics& metrics, const std::string& name, const WorkQueue& queue);

// leader_election_master_status: 1 while this process may write as the leader.
void add_leader_metrics(Metrics& metrics, const std::string& name, const Leadership& leadership);

// nervex_cache_objects{kind}: `size` must be thread-safe.
void add_cache_metrics(Metrics& metrics, const std::string& kind,
                       std::function<std::size_t()> size);
// nervex_caches_synced: 1 when `check_synced` succeeds.
void add_synced_metric(Metrics& metrics, std::function<Result<Nothing>()> check_synced);

}  // namespace nervex::kube
