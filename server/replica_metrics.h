// server/replica_metrics.h - how many replicas do jobs want, and how many exist?
#pragma once

#include "base/metrics.h"
#include "server/stores.h"

namespace nervex::server {

// nervex_server_replicas_wanted and nervex_server_replicas_present, both by role (collector,
// learner), over all jobs that have started and not finished. A multi-GPU learner is one replica,
// present while its aggregator is. Counted from the caches at each scrape; cost: their pods. Uses
// `stores` until the last Metrics::text().
void add_replica_metrics(Metrics& metrics, const Stores& stores);

}  // namespace nervex::server
