// controller/decide/objects/endpoint_slices.h - which EndpointSlices make the names of a
// namespace's pods resolve? Pure.
//
// The namespace's Service (services.h) has no selector, so Kubernetes' own controllers leave its
// addresses to us. They would rewrite a slice and the Endpoints object for every few new pods; that
// was the largest cost of a start (docs/performance.md). Here all jobs of the namespace share
// slices, and one write of a slice covers all changes since the last.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "controller/decide/actions.h"
#include "controller/decide/round/observed.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/pod.h"

namespace nervex::controller {

inline constexpr kube::ResourceKind kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
inline constexpr kube::ResourceKind kEndpoints{"", "v1", "endpoints"};

// -- what is cached of a slice?

struct Endpoint {
  std::string hostname;  // the pod's name
  std::string address;
  std::string node;
  std::string pod_uid;
  bool is_ready = true;  // DNS leaves out one that is not
  bool operator==(const Endpoint&) const = default;
};

struct EndpointSlice {
  kube::Meta meta;
  std::string address_type;  // IPv4, IPv6
  std::vector<Endpoint> endpoints;
  bool operator==(const EndpointSlice&) const = default;
};

// kNotFound: it belongs to a Service other than its namespace's.
Result<EndpointSlice> decode_endpoint_slice(std::string_view json);

// Did this controller write it?
bool is_ours(const EndpointSlice& slice);
// Written by Kubernetes' own controllers, while the Service had a selector (as in 0.1), or from the
// Endpoints object of that time. No other program removes these.
bool is_leftover(const EndpointSlice& slice);

// -- what is to be written?

// A slice is written whole, so a larger one costs more for each change, and more of them are more
// objects. Kubernetes' own controller has the same limit.
inline constexpr std::size_t kMaxEndpointsPerSlice = 100;

struct EndpointSliceWrites {
  std::vector<Json> create;
  std::vector<Json> update;  // with the resourceVersion to replace
  std::vector<Target> remove;
  bool is_partial = false;  // some pods have no address yet, or are terminating
  bool empty() const { return create.empty() && update.empty() && remove.empty(); }
};

// An endpoint for each of the pods that has an address, has not ended, and is named by its
// namespace, ready or not, as for a Service with publishNotReadyAddresses. A pod that is being
// deleted keeps its name to the end.
//
// `pods`: those of all jobs that exist in the namespace; `service`: the one with the namespace's
// name, or null; `slices`: ours, sorted by name; `taken`: names of others. An endpoint stays in its
// slice. New ones fill the slices that are written anyway, then those with the most space, then new
// ones. Without a Service of ours all slices are removed: they would add addresses to another
// owner's Service. The Service owns the slices, so that they are deleted with it, even if a version
// of this suite without slices takes it over. Cost: pods with log.
EndpointSliceWrites endpoint_slice_writes(const std::string& ns, const Ptrs<kube::Pod>& pods,
                                          const Service* service, const Ptrs<EndpointSlice>& slices,
                                          std::set<std::string> taken = {});

// Does the pod's endpoint appear, vanish or change? Either may be null.
bool changes_endpoint(const kube::Pod* before, const kube::Pod* after);

}  // namespace nervex::controller
