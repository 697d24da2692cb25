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
  // Every amount asked for here is at most what `free` has. Zero and negative asks always fit.
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
// The other way, as requests are written: {"cpu":"500m","memory":"1Gi"}.
Json encode_resources(const Resources& resources);
// "500m" for cpu 500, "1Gi" for memory, "8" for devices: as people read it.
std::string format_amount(std::string_view resource, std::int64_t amount);

// What kube-scheduler counts for a pod spec (kubernetes 1.36, pkg/api/v1/resource):
// max(sum of containers + running sidecars, each init container with the sidecars started before
// it) + overhead, limits standing in for absent requests, plus one of "pods". Unreadable
// quantities count as zero here: admission refuses them.
Resources pod_requests(const Json& pod_spec);

}  // namespace nervex::kube
