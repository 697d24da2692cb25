#include "planner/reserved_nodes/weigh_nodes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace nervex::planner {
namespace {

// Of the nodes, by when they become free.
struct Given {
  NodeAmounts by_end;       // by all that end for the head
  NodeAmounts in_time;      // of it before it is due, without pods that take long to end
  NodeAmounts ending;       // by what is ending
  NodeAmounts soon;         // also by reclaimable tenants
  NodeAmounts at_once;      // also by reclaimable plans, which end by being dropped
  NodeAmounts by_dropping;  // by what is ending, and these plans
  NodeAmounts by_reclaim;   // by what is ending, and all that may be reclaimed now or later
};

Given sum_given(const queue::ReservedFor& terms, const std::vector<NodeTenant>& tenants) {
  Given given;
  for (const NodeTenant& tenant : tenants) {
    const bool may_reclaim = !tenant.is_ending && queue::is_reclaimable(terms, tenant.terms());
    const bool is_soon = tenant.is_ending || (may_reclaim && !tenant.is_starting);
    const bool is_given = tenant.is_ending || queue::ends_for(terms, tenant.terms());
    const bool can_drop = may_reclaim && tenant.plan != nullptr;
    for (const auto& [node, amount] : tenant.use) {
      if (is_given) given.by_end[node] += amount;
      if (tenant.is_late) continue;
      if (is_given) given.in_time[node] += amount;
      if (tenant.is_ending) given.ending[node] += amount;
      if (is_soon) given.soon[node] += amount;
      if (is_soon || can_drop) given.at_once[node] += amount;
      if (tenant.is_ending || can_drop) given.by_dropping[node] += amount;
      if (tenant.is_ending || may_reclaim) given.by_reclaim[node] += amount;
    }
  }
  return given;
}

// wanted - given, where that is more than nothing.
kube::Resources excess(const kube::Resources& wanted, const kube::Resources& given) {
  kube::Resources left;
  for (const auto& [name, amount] : wanted.amounts()) {
    const std::int64_t rest = amount - given.get(name);
    if (rest > 0 && !kube::is_counter(name)) left.set(name, rest);
  }
  return left;
}

}  // namespace

kube::Resources at_most(const kube::Resources& wanted, const kube::Resources& free) {
  kube::Resources most;
  for (const auto& [name, amount] : wanted.amounts()) {
    if (kube::is_counter(name)) continue;  // pods are counted where they are
    const std::int64_t has = kube::requestable(name, free.get(name));
    most.set(name, std::clamp<std::int64_t>(has, 0, amount));
  }
  return most;
}

NodeBalance weigh_nodes(const queue::ReservedFor& terms, const NodeAmounts& wanted,
                        const std::vector<NodeTenant>& tenants, bool may_reclaim,
                        const Ledger& ledger) {
  Given given = sum_given(terms, tenants);
  const auto has = [&](const std::string& node, const kube::Resources& amount,
                       const NodeAmounts& more) {
    const auto at = ledger.nodes().find(node);
    if (!at) return false;
    kube::Resources sum = ledger.nodes().free(*at);
    if (const auto its = more.find(node); its != more.end()) sum += its->second;
    return amount.fits_in(sum);
  };
  // A zone that another pod has is a wait, too. Its tenants are on other nodes and not known here.
  const bool is_apart = std::none_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto at = ledger.nodes().find(one.first);
    return at && ledger.is_taken_nearby(one.second, *at);
  });
  const auto is_enough = [&](const NodeAmounts& more) {
    return is_apart && std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
             return has(one.first, one.second, more);
           });
  };
  NodeBalance balance;
  for (const NodeTenant& tenant : tenants) {
    if (tenant.is_on(wanted)) balance.last_end = std::max(balance.last_end, tenant.pod_end);
  }
  for (const auto& [node, amount] : wanted) {
    if (!has(node, amount, given.by_end)) balance.lacking.insert(node);
    const auto at = ledger.nodes().find(node);
    if (!at) continue;
    // Without a due time a tenant may never end: what is free now is all that the head can count
    // on.
    kube::Resources kept =
        at_most(terms.due ? excess(amount, given.in_time[node]) : amount, ledger.nodes().free(*at));
    if (!kept.empty()) balance.kept.emplace(node, std::move(kept));
  }
  const bool is_alone_enough = is_enough(given.ending);
  const bool is_soon_enough = is_enough(given.soon);
  balance.needs_reclaim = is_soon_enough && !is_alone_enough;
  balance.can_reclaim = !is_alone_enough && is_enough(given.by_reclaim);
  balance.is_due = is_alone_enough || (is_soon_enough && may_reclaim);
  balance.waits_for_plans = (!is_alone_enough && is_enough(given.by_dropping)) ||
                            (!is_soon_enough && may_reclaim && is_enough(given.at_once));
  return balance;
}

}  // namespace nervex::planner
