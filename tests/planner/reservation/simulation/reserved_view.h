// tests/planner/reservation/simulation/reserved_view.h - what do the stored objects say of
// reserved nodes: who uses them, and who ends in time? With rules of its own, so that it judges the
// planner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue/order.h"
#include "queue/preemption.h"
#include "tests/planner/stored_cluster.h"

namespace nervex::testing {

// A gang that has a status. Borrows both.
struct GangSeen {
  using Key = std::pair<std::string, std::string>;  // PodGroup UID, gang
  const gang::PodGroup* group = nullptr;
  const gang::GangStatus* gang = nullptr;

  Key key() const { return {group->meta.uid, gang->name}; }
  std::string name() const { return group->meta.name + "/" + gang->name; }
  const std::string& queue() const { return group->status.queue.name; }
  queue::Rank rank() const;
  bool is_preempting() const { return gang::is_preempting(*gang); }
  bool has_nodes() const { return gang->committed || gang->planned || is_preempting(); }
  // Or its job does.
  bool is_released() const;
};

// A reservation, and what its gang could know when it reserved.
struct Reserved {
  SysTime since{};
  std::optional<SysTime> due{};
  std::map<std::string, std::int64_t> wanted{};  // GPUs by node
  // The latest end of each job on its nodes, as known when the gang reserved or the job came there;
  // by PodGroup UID.
  std::map<std::string, std::optional<SysTime>> counted_on{};
};

using QueueUse = std::map<std::string, std::int64_t>;  // GPUs by queue

// Borrows the cluster.
class ReservedView {
 public:
  // `clock_error`: how far the clocks of two leaders may differ.
  ReservedView(const StoredCluster& cluster, queue::PreemptionMode mode,
               std::chrono::seconds clock_error)
      : cluster_(cluster), mode_(mode), clock_error_(clock_error) {}

  void set_now(SysTime now) { now_ = now; }

  std::vector<GangSeen> list_gangs() const;
  std::optional<GangSeen> find(const GangSeen::Key& key) const;
  struct Use {
    GangSeen by;
    std::int64_t gpus = 0;
  };
  std::vector<Use> list_uses(std::string_view node) const;
  bool is_up(std::string_view node) const;
  // Of its job; nullopt: without bound.
  std::optional<SysTime> latest_end(const GangSeen& seen) const;

  bool is_reclaimable(const GangSeen& head, const Reserved& reserved, const GangSeen& tenant) const;
  // It will have ended, by itself or for the head, when the head starts.
  bool ends_for(const GangSeen& head, const Reserved& reserved, const GangSeen& tenant) const;
  // Its nodes that lack something when all that ends for it has ended.
  std::vector<std::string> find_lacking(const GangSeen& head, const Reserved& reserved) const;

  static std::int64_t sum_gpus(const GangSeen& seen);  // of all its pods
  QueueUse sum_committed() const;
  // `is_most`: with all that may count.
  QueueUse sum_use(bool is_most) const;
  // In a cycle that began with that use. True if in doubt.
  bool may_be_before(const GangSeen& one, const GangSeen& head, const QueueUse& before) const;

  // What is on the nodes that the gang has reserved, for a failure.
  std::string describe(const GangSeen& head, const Reserved& reserved) const;

 private:
  bool may_reclaim(const GangSeen& tenant, const GangSeen& head) const;
  bool is_counted_on(const Reserved& reserved, const GangSeen& tenant) const;
  std::int64_t quota(const std::string& queue) const;

  const StoredCluster& cluster_;
  const queue::PreemptionMode mode_;
  const std::chrono::seconds clock_error_;
  SysTime now_{};
};

}  // namespace nervex::testing
