// server/base_changes.h - how is one slot's change written down in spec.requests? Pure.
#pragma once

#include "job/types.h"

namespace nervex::server {

// Puts the change in the place of an earlier one of the same slot.
void change_base(job::Requests& requests, const job::BaseChange& change);

// The slot of a requested unit of that attempt; nullptr if there is none.
job::Slot* find_slot(job::Requests& requests, job::Role role, int attempt, int ordinal);

}  // namespace nervex::server
