// controller/decide/objects/endpoint_slices.h - which EndpointSlices let the names of a job's pods
// resolve? Pure.
//
// The namespace's Service (services.h) has no selector, so that Kubernetes' own controllers leave
// its addresses to us. They would write a slice and the Endpoints object again for every few pods
// that come; that was the largest cost of a start (docs/performance.md). Here a job has slices of
// its own, which hold what changed meanwhile in one write each.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "controller/decide/actions.h"
#include "controller/decide/round/observed.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/pod.h"

namespace nervex::controller {

inline constexpr kube::ResourceKind kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
inline constexpr kube::ResourceKind kEndpoints{"", "v1", "endpoints"};

// -- what is kept of a slice?

struct EndpointSlice {
  kube::Meta meta;
  std::uint64_t content = 0;  // a number for its owner and endpoints: equal for equal ones
  bool operator==(const EndpointSlice&) const = default;
};

// kNotFound: it belongs to another Service than its namespace's.
Result<EndpointSlice> decode_endpoint_slice(std::string_view json);

// Who wrote it?
bool is_ours(const EndpointSlice& slice);
// Kubernetes' own controllers, while the Service had a selector (as in 0.1), or from
// the Endpoints object of that time. Only we remove these.
bool is_leftover(const EndpointSlice& slice);

// -- what is to be written?

// A slot's endpoint is in the slice of its ordinal divided by this, and never moves to another one:
// a replica that comes or goes costs one write of one slice. Of a slot there are at most a
// collector, a learner with its aggregator, or the coordinator: far below the 1,000 endpoints that
// the API server accepts in a slice.
inline constexpr int kSlotsPerSlice = 128;

struct EndpointSliceWrites {
  std::vector<Json> create;
  std::vector<Json> update;  // with the resourceVersion that they replace
  std::vector<Target> remove;
  bool is_partial = false;  // pods of the job have no address yet, or are on their way out
  bool empty() const { return create.empty() && update.empty() && remove.empty(); }
};

// An endpoint for each pod of the job that has an address, has not ended, and is named by its
// namespace, be it ready or not, as for a Service with publishNotReadyAddresses; a pod that is
// being deleted keeps its name to the end, while there is the job.
//
// `job`: null if there is none any more; `pods`: of which it is the controller; `service`: of the
// namespace's name, null if there is none; `slices`: of jobs of this name, by us. Without a Service
// of ours no slice stays: it would add addresses to the Service of another owner. The slices are
// owned by the Service, so that they go with it: also when a version of this suite that knows no
// slices takes it over. Cost: pods with log.
EndpointSliceWrites endpoint_slice_writes(const job::Job* job, const Ptrs<kube::Pod>& pods,
                                          const Service* service,
                                          const Ptrs<EndpointSlice>& slices);

// Does the pod have, or lose, an endpoint, or get another one? Either may be null.
bool changes_endpoint(const kube::Pod* before, const kube::Pod* after);

}  // namespace nervex::controller
