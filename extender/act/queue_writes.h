// extender/act/queue_writes.h - how do reports of queues reach the status of Queues?
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "queue/report.h"

namespace nervex::extender {

// write() is called by the planner's thread only; latest() by any.
class QueueWrites {
 public:
  QueueWrites(kube::Api& api, const Clock& clock, std::size_t parallelism)
      : api_(api), clock_(clock), parallelism_(parallelism) {}
  QueueWrites(const QueueWrites&) = delete;
  QueueWrites& operator=(const QueueWrites&) = delete;

  // Writes the statuses that have changed, a few at a time. Does nothing if there are none. False:
  // one was not written, and has to be reported again.
  bool write(const std::vector<queue::Report>& reports);
  // The last reports, for metrics. Empty: this process has made none.
  std::vector<queue::Report> latest() const;

 private:
  struct Written {
    queue::Report report;
    Json status;
  };
  // The status as stored now; null if the Queue has none, or it was not written.
  Json write_one(const queue::Report& report, const Written* before);

  kube::Api& api_;
  const Clock& clock_;
  const std::size_t parallelism_;
  std::map<std::string, Written> written_;  // by UID of the queue
  mutable Mutex mutex_;
  std::vector<queue::Report> latest_ GUARDED_BY(mutex_);
};

}  // namespace nervex::extender
