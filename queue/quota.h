// queue/quota.h - may pods be created beside what their namespace uses and plans? Pure.
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

struct Pods {  // that do not exist yet, of one shape
  const kube::Resources* requests = nullptr;
  std::int64_t count = 0;
};

// What ResourceQuotas leave: what they allow, less what is used, less what planned pods will use
// that do not exist yet. Pods that exist are in what is used, also those of other
// operators' gangs: these exist before they are planned, so they count from their creation.
//
// Two watches tell of a new pod and of its use, so that for a moment it counts twice, or not at
// all: in the one case a gang waits a little longer, in the other the API server refuses a pod and
// the gang is requeued.
class QuotaLedger {
 public:
  // Borrows the quotas.
  explicit QuotaLedger(std::span<const QuotaPtr> quotas);

  bool empty() const { return limits_.empty(); }
  bool is_limited(std::string_view ns) const { return limits_.count(ns) > 0; }
  // The first limit that the pods would exceed beside what is planned; nullopt: none. What does not
  // raise the use of a limit never exceeds it.
  std::optional<gang::OverQuota> find_exceeded(std::string_view ns,
                                               std::span<const Pods> pods) const;
  // Negative counts: they are not planned any more, or exist.
  void plan(std::string_view ns, const Pods& pods);

 private:
  __extension__ using Wide = __int128;  // one pod may ask for as much as int64 holds
  struct Limit {
    const kube::Quota* quota = nullptr;
    const kube::QuotaLimit* limit = nullptr;
    Wide planned = 0;
  };
  std::map<std::string_view, std::vector<Limit>> limits_;  // by namespace
};

}  // namespace nervex::queue
