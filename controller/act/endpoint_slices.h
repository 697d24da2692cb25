// controller/act/endpoint_slices.h - when are the EndpointSlices of a namespace written? What is
// written is decided by decide/objects/endpoint_slices.h.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "controller/decide/objects/endpoint_slices.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/events.h"

namespace nervex::controller {

// Processes the keys of Queues::endpoint_slices: orphans_key() of each namespace. Separate from the
// workers: a round that creates a thousand pods takes seconds, and names need not wait for it; a
// write that fails here delays nothing else. For one thread.
class EndpointSliceWriter {
 public:
  // The slices of a namespace are decided and written at most once in this period, for all its jobs
  // together. While pods wait for their addresses or are terminating, the first write waits as
  // long, too: more changes are about to follow.
  static constexpr std::chrono::seconds kPeriod{1};

  // Borrows all arguments.
  EndpointSliceWriter(kube::Api& api, Stores& stores, kube::WorkQueue& queue,
                      kube::EventRecorder& events, const Clock& clock);

  // Never throws. Failures are logged and retried with the queue's back-off; event
  // kFailedToUpdateEndpointSlices of the namespace's Service reports lasting ones.
  void process(const std::string& key);

 private:
  struct Namespace {
    std::optional<MonoTime> next_look{};  // not before that
    std::optional<MonoTime> changed{};    // since when a write has been due
    std::set<std::string> taken{};        // names of slices that are not ours
  };

  Result<Nothing> work(const std::string& ns);
  // False: it is not time yet.
  Result<bool> write_slices(const std::string& ns);
  // If not, the namespace is looked at again then.
  bool is_due(const std::string& ns, MonoTime due, MonoTime now);
  Result<Nothing> write(const std::string& ns, const EndpointSliceWrites& writes);
  Result<Nothing> update(const std::string& ns, const Json& manifest);
  Result<Nothing> create(const std::string& ns, const Json& manifest);
  Result<Nothing> remove(const std::string& ns, const Target& target);
  // Removes what Kubernetes' own controllers left, once our slices name every pod of the namespace.
  Result<Nothing> remove_leftovers(const std::string& ns);
  Result<Nothing> remove_endpoints(const std::string& ns);
  // Of jobs that exist.
  Ptrs<kube::Pod> find_pods(const std::string& ns) const;
  void report(const std::string& key, const Error& error);

  kube::Api& api_;
  Stores& stores_;
  kube::WorkQueue& queue_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  std::unordered_map<std::string, Namespace> namespaces_;
};

}  // namespace nervex::controller
