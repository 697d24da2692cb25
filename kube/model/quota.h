// kube/model/quota.h - how much may the pods of a namespace ask for together?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/meta.h"

namespace nervex::kube {

struct QuotaLimit {
  std::string name;      // as the quota has it: "requests.nvidia.com/gpu"
  std::string resource;  // of a pod's requests: "nvidia.com/gpu", "pods"
  std::int64_t hard = 0;
  std::int64_t used = 0;
  bool operator==(const QuotaLimit&) const = default;
};

// A ResourceQuota, as far as it surely applies to a pod whose requests are known: the number of
// pods and what they request. Left out are limits.* (they are not known), objects other than pods,
// and all of a quota with a scope, but for NotBestEffort.
struct Quota {
  Meta meta;                       // namespace, name, uid and resourceVersion alone
  bool not_best_effort = false;    // only pods that request cpu or memory count
  std::vector<QuotaLimit> limits;  // by name
  bool operator==(const Quota&) const = default;
};

// kInvalid: not JSON, or metadata.name is missing. What is allowed is status.hard, which is what
// the API server enforces, or spec.hard as long as there is none.
Result<Quota> decode_quota(std::string_view json);

}  // namespace nervex::kube
