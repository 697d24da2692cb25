// server/decide/shrink.h - which replicas does one DELETE remove? Pure.
#pragma once

#include "server/decide/change.h"
#include "server/decide/job_view.h"

namespace nervex::server {

// Of each role as many as were asked for, or as there are: what was requested last goes first, then
// the base replicas from their end; a multi-GPU learner goes whole. Replicas that have ended are
// not counted: they stay for their logs and counts, and a client that asks for one less wants one
// living one less. The answer names what was removed, by ordinal. Never fails: fewer than asked is
// fine.
Change shrink(const JobView& view, const RemoveRequest& request);

}  // namespace nervex::server
