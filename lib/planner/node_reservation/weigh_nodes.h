// planner/node_reservation/weigh_nodes.h - does a head get the nodes that it has reserved? Pure.
#pragma once

#include <vector>

#include "planner/gang/ledger.h"
#include "planner/node_reservation/tenants.h"
#include "queue/reservation.h"

namespace nervex::extender {

struct NodeBalance {
  NodeNames lacking;  // they cannot suffice any more. Borrows the names of what is wanted
  NodeAmounts kept;   // of what is wanted, from others: beside what tenants give back
  // The head has its nodes when reclaimable tenants have ended, and not with what is ending alone.
  bool needs_reclaim = false;
  // The same if it had also ended those that start, heal or are planned.
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

}  // namespace nervex::extender
