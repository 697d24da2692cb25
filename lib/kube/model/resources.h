// kube/model/resources.h - how much of each resource is requested, allocatable or free?
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {

// cpu in milli-cores, everything else in whole units (bytes, devices, pods).
struct ResourceAmount {
  std::string name;
  std::int64_t amount = 0;
  bool operator==(const ResourceAmount&) const = default;
};

// Resources that each node has one unit of without listing them: each host port, and a place for a
// pod that keeps apart from its kind (anti_affinity.h); or any amount (is_counter()). A name with a
// ':' is implicit: API resources cannot have one. Implicit resources appear in no allocatable,
// quota or ResourceList, but are added, subtracted and compared like others.
inline bool is_implicit(std::string_view resource) {
  return resource.find(':') != std::string_view::npos;
}
// Nodes have any amount of a resource of this kind: its use counts the pods on the node that a
// label selector matches (topology_spread.h).
inline constexpr std::string_view kMatchingPods = "matchingPods:";
inline bool is_counter(std::string_view resource) { return resource.starts_with(kMatchingPods); }
// How much pods may request of the resource on a node that shows `free` of it.
inline std::int64_t requestable(std::string_view resource, std::int64_t free) {
  if (!is_implicit(resource)) return free;
  return is_counter(resource) ? std::numeric_limits<std::int64_t>::max() : free + 1;
}
inline constexpr std::string_view kHostPort = "hostPort:";
// "hostPort:TCP/8080". Ignores the IP address of the port (hostIP): two pods whose ports differ
// only in it are kept apart, though kube-scheduler would allow them.
std::string host_port(std::string_view protocol, std::int64_t port);

// A small map sorted by name, without zero amounts. Arithmetic saturates at int64's limits. Copies
// share their content until one changes.
class Resources {
 public:
  Resources() = default;
  Resources(std::initializer_list<ResourceAmount> amounts);

  std::int64_t get(std::string_view name) const;  // 0 if absent
  void set(std::string_view name, std::int64_t amount);
  const std::vector<ResourceAmount>& amounts() const { return amounts_.items(); }
  bool empty() const { return amounts_.empty(); }

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);  // may go below zero: an overcommitted node
  // Per resource the larger one.
  void raise_to(const Resources& other);
  // Every amount requested here is at most the amount in `free`, plus one for implicit resources.
  // Zero and negative requests always fit.
  bool fits_in(const Resources& free) const;
  // The first resource (by name) that `free` has too little of; empty: it fits.
  std::string_view first_lacking(const Resources& free) const;
  // How many times this fits in `free` (at most `limit`).
  std::int64_t times_in(const Resources& free, std::int64_t limit) const;

  bool operator==(const Resources&) const = default;

 private:
  friend class SharePool;
  SharedVector<ResourceAmount> amounts_;
};

// Reads a ResourceList object ({"cpu":"500m"}), with kMilli for cpu and kOne for the rest. kInvalid
// names the resource.
Result<Resources> decode_resources(const Json& resource_list);
// The inverse, in the form of requests: {"cpu":"500m","memory":"1Gi"}. Omits implicit resources.
Json encode_resources(const Resources& resources);
Resources without_implicit(const Resources& requests);
// "500m" for cpu 500, "1Gi" for memory, "8" for devices: for people.
std::string format_amount(std::string_view resource, std::int64_t amount);
// "nvidia.com/gpu 8", "hostPort TCP/8080", "a node of its own (podAntiAffinity)".
std::string format_need(std::string_view resource, std::int64_t amount);

// What kube-scheduler counts for a pod spec (kubernetes 1.36, pkg/api/v1/resource):
// max(sum of containers + running sidecars, each init container with the sidecars started before
// it) + overhead, limits standing in for absent requests, plus one of "pods" and each host port of
// containers and sidecars. Of a pod in its node's own network (hostNetwork) every port is one, as
// the API server will write it. Unreadable quantities count as zero here: admission refuses them.
Resources pod_requests(const Json& pod_spec);

}  // namespace nervex::kube
