// planner/gang/quotas.h - may the pods of this gang be created within the quotas? Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "planner/facts/snapshot.h"
#include "planner/gang/gang_work.h"
#include "queue/quota.h"

namespace nervex::planner {

// Counts pods of gangs as planned while gangs are placed: those that do not exist yet, and those
// with reserved capacity. Gangs of other operators need no count: their pods exist before they are
// planned (queue/quota.h). Lives within one decision.
class Quotas {
 public:
  explicit Quotas(const Snapshot& snapshot);

  // The quota that the gang would exceed if all its slots had pods and its reserved capacity was
  // used; nullopt: none. A request takes over what is reserved for it.
  std::optional<gang::NoFit> exceeded_by(const GroupSeen& seen, const GangWork& work) const;
  std::vector<queue::QuotaUse> list(std::string_view ns) const { return ledger_.list(ns); }
  // Every slot of the gang is planned now, or none is any more.
  void take(const GroupSeen& seen, const GangWork& work) { count(seen, work, true); }
  void give_back(const GroupSeen& seen, const GangWork& work) { count(seen, work, false); }

 private:
  // PodGroup UID, role, slot.
  using Counted = std::set<std::tuple<std::string_view, std::string_view, gang::SlotId>>;

  void count_reserved(const GroupSeen& seen);
  // Pods that the gang's set adds to the count, less what it takes over, plus what it reserves.
  std::int64_t reserved_change(const GangWork& work, const gang::MemberSet& set) const;
  void count(const GroupSeen& seen, const GangWork& work, bool add);
  void add(const GroupSeen& seen, const gang::MemberSet& set, std::int64_t pods);
  bool is_counted(const GroupSeen& seen, const gang::MemberSet& set, gang::SlotId slot) const {
    return counted_.count({seen.group->meta.uid, set.role, slot}) > 0;
  }

  queue::QuotaLedger ledger_;
  Counted counted_;  // those in the ledger
  // Reserved capacity in the ledger, in pods by PodGroup UID and set.
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> reserved_;
};

}  // namespace nervex::planner
