// planner/reserved_nodes/weigh_nodes.h - does a head get the nodes that it has reserved? Pure.
#pragma once

#include <vector>

#include "planner/gang/ledger.h"
#include "planner/reserved_nodes/tenants.h"
#include "queue/reservation.h"

namespace nervex::planner {

struct NodeBalance {
  // Nodes that cannot hold what the head wants there even when all tenants that end for it have
  // ended. Borrows the names of `wanted`.
  NodeNames lacking;
  NodeAmounts kept;  // by node: free capacity that is kept from other gangs
  // The head fits when it reclaims what tenants use, and not on what is ending alone. Tenants that
  // start or heal do not count.
  bool needs_reclaim = false;
  // The head fits when it also reclaims what tenants use that start, heal or are planned: these can
  // be reclaimed later.
  bool can_reclaim = false;
  // What is ending suffices, or the head reclaims its nodes next. Nothing more starts there that is
  // served after it.
  bool is_due = false;
  bool waits_for_plans = false;  // it would be due without reclaimable plans, which are dropped
  SysTime last_end{};            // of pods there that are being deleted
};

// `wanted`: by the head of `terms`. `may_reclaim`: it may end tenants now. Cost: tenants and nodes.
NodeBalance weigh_nodes(const queue::ReservedFor& terms, const NodeAmounts& wanted,
                        const std::vector<NodeTenant>& tenants, bool may_reclaim,
                        const Ledger& ledger);

// No more of it than is free: a node never gets less than nothing by it.
kube::Resources at_most(const kube::Resources& wanted, const kube::Resources& free);

}  // namespace nervex::planner
