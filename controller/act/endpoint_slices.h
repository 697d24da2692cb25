// controller/act/endpoint_slices.h - keeps the EndpointSlices of jobs as endpoint_slices.h decides.
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

// What happens when it is a key's turn in Queues::endpoint_slices. Apart from the workers, for a
// round that creates a thousand pods takes seconds, and their names need not wait for its end; and
// a write that fails here holds up nothing else. For one thread.
class EndpointSliceWriter {
 public:
  // While pods of a job still wait for their addresses, or are on their way out, its slices are
  // written once in this time: when a large gang starts or ends, each of them would else be written
  // with each look.
  static constexpr std::chrono::seconds kPeriod{1};

  // All are borrowed.
  EndpointSliceWriter(kube::Api& api, Stores& stores, kube::WorkQueue& queue,
                      kube::EventRecorder& events, const Clock& clock);

  // Never throws. Failures are logged and the key comes again with the queue's back-off; those that
  // stay are told by an event of the job, kFailedToUpdateEndpointSlices.
  void process(const std::string& key);

 private:
  Result<Nothing> work(const std::string& key);
  Result<Nothing> write_slices(const std::string& job);
  Result<Nothing> write(const std::string& ns, const EndpointSliceWrites& writes);
  Result<Nothing> update(const std::string& ns, const Json& manifest);
  Result<Nothing> create(const std::string& ns, const Json& manifest);
  Result<Nothing> remove(const std::string& ns, const Target& target);
  // What Kubernetes' own controllers have left: once ours name every pod of the namespace.
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
