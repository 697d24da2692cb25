// queue/quota.h - does a namespace's quota allow more pods, given its use and its plans? Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gang/no_fit.h"
#include "kube/model/quota.h"
#include "kube/model/resources.h"

namespace nervex::queue {

using QuotaPtr = std::shared_ptr<const kube::Quota>;

struct Pods {  // pods that do not exist yet, of one shape
  const kube::Resources* requests = nullptr;
  std::int64_t count = 0;
};

struct QuotaUse {
  const kube::Quota* quota = nullptr;
  const kube::QuotaLimit* limit = nullptr;
  std::int64_t used = 0;  // planned pods included
};

// What ResourceQuotas leave: the limit, less current use, less the use of planned pods that do not
// exist yet. Existing pods count as use. Gangs of other operators count from their creation,
// because their pods exist before they are planned.
//
// A new pod and its use arrive on two watches. For a moment the pod may count twice, and a gang
// waits a little longer; or not at all, and the API server refuses a pod and the gang is requeued.
class QuotaLedger {
 public:
  // Borrows the quotas.
  explicit QuotaLedger(std::span<const QuotaPtr> quotas);

  bool empty() const { return limits_.empty(); }
  bool is_limited(std::string_view ns) const { return limits_.count(ns) > 0; }
  // The first limit that the pods would exceed beside planned pods; nullopt: none. Pods that do not
  // raise the use of a limit never exceed it.
  std::optional<gang::OverQuota> find_exceeded(std::string_view ns,
                                               std::span<const Pods> pods) const;
  std::vector<QuotaUse> list(std::string_view ns) const;
  // Negative counts: the pods are no longer planned, or now exist.
  void plan(std::string_view ns, const Pods& pods);

 private:
  __extension__ using Wide = __int128;  // one pod may request as much as int64 holds
  struct Limit {
    const kube::Quota* quota = nullptr;
    const kube::QuotaLimit* limit = nullptr;
    Wide planned = 0;
  };
  std::map<std::string_view, std::vector<Limit>> limits_;  // by namespace
};

}  // namespace nervex::queue
