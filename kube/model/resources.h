// kube/model/resources.h - how much of each resource is that: requested, allocatable, free?
#pragma once

#include <cstdint>
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

// What each node has one of without stating it: each host port, and a place for a pod that keeps
// apart from its kind (anti_affinity.h). A name with a ':' is implicit: no resource of the API can
// have one, so these are in no allocatable, quota or ResourceList, but are added, subtracted and
// compared as any other.
inline bool is_implicit(std::string_view resource) {
  return resource.find(':') != std::string_view::npos;
}
inline constexpr std::string_view kHostPort = "hostPort:";
// "hostPort:TCP/8080". The IP address that a port may be bound to (hostIP) is not part of it: two
// pods whose ports differ in it alone are kept apart, though kube-scheduler would allow them.
std::string host_port(std::string_view protocol, std::int64_t port);

// A small map, sorted by name, without zero amounts. Arithmetic saturates at int64's ends. Copies
// share what they hold until one changes.
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
  // Every amount asked for here is at most what `free` has; of implicit resources `free` has one
  // more than it says. Zero and negative asks always fit.
  bool fits_in(const Resources& free) const;
  // The first resource (by name) of which `free` has too little; empty: it fits.
  std::string_view first_lacking(const Resources& free) const;
  // How many times this fits in `free` (at most `limit`).
  std::int64_t times_in(const Resources& free, std::int64_t limit) const;

  bool operator==(const Resources&) const = default;

 private:
  friend class SharePool;
  SharedVector<ResourceAmount> amounts_;
};

// One resource's scale: kMilli for cpu, kOne for the rest.
// Reads a ResourceList object ({"cpu":"500m"}). kInvalid names the resource.
Result<Resources> decode_resources(const Json& resource_list);
// The other way, as requests are written: {"cpu":"500m","memory":"1Gi"}. Without implicit ones.
Json encode_resources(const Resources& resources);
Resources without_implicit(const Resources& requests);
// "500m" for cpu 500, "1Gi" for memory, "8" for devices: as people read it.
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
