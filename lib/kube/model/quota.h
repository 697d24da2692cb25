// kube/model/quota.h - how much may the pods of a namespace request together?
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

// A ResourceQuota, reduced to limits that certainly apply to a pod with known requests: the number
// of pods and what they request. Omits limits.* (unknown), objects other than pods, and every quota
// with a scope other than NotBestEffort.
struct Quota {
  Meta meta;                       // only namespace, name, uid and resourceVersion
  bool not_best_effort = false;    // counts only pods that request cpu or memory
  std::vector<QuotaLimit> limits;  // by name
  bool operator==(const Quota&) const = default;
};

// kInvalid: not JSON, or metadata.name is missing. Limits come from status.hard, which the API
// server enforces, or from spec.hard until that exists.
Result<Quota> decode_quota(std::string_view json);

}  // namespace nervex::kube
