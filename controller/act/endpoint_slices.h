// controller/act/endpoint_slices.h - writes what decide/objects/endpoint_slices.h decides for jobs.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "controller/decide/objects/endpoint_slices.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/events.h"

namespace nervex::controller {

// Processes the keys of Queues::endpoint_slices. Separate from the workers: a round that creates a
// thousand pods takes seconds, and names need not wait for it; a write that fails here delays
// nothing else. For one thread.
class EndpointSliceWriter {
 public:
  // While pods of a job wait for their addresses or are terminating, its slices are written at most
  // once in this period: otherwise each of them is written at each look while a large gang starts
  // or ends.
  static constexpr std::chrono::seconds kPeriod{1};

  // Borrows all arguments.
  EndpointSliceWriter(kube::Api& api, Stores& stores, kube::WorkQueue& queue,
                      kube::EventRecorder& events, const Clock& clock);

  // Never throws. Failures are logged and retried with the queue's back-off; event
  // kFailedToUpdateEndpointSlices of the job reports lasting ones.
  void process(const std::string& key);

 private:
  Result<Nothing> work(const std::string& key);
  Result<Nothing> write_slices(const std::string& job);
  Result<Nothing> write(const std::string& ns, const EndpointSliceWrites& writes);
  Result<Nothing> update(const std::string& ns, const Json& manifest);
  Result<Nothing> create(const std::string& ns, const Json& manifest);
  Result<Nothing> remove(const std::string& ns, const Target& target);
  // Removes what Kubernetes' own controllers left, once our slices name every pod of the namespace.
  Result<Nothing> remove_leftovers(const std::string& ns);
  Result<Nothing> remove_endpoints(const std::string& ns);
  EndpointSliceWrites writes_for(const std::string& key) const;
  void report(const std::string& key, const Error& error);

  kube::Api& api_;
  Stores& stores_;
  kube::WorkQueue& queue_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  std::unordered_map<std::string, MonoTime> written_;  // or first looked at; by the job's key
};

}  // namespace nervex::controller
