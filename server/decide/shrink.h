// server/decide/shrink.h - which replicas does one DELETE remove? Pure.
#pragma once

#include "server/decide/change.h"
#include "server/decide/job_view.h"

namespace nervex::server {

// Removes the requested number of each role, or all there are: the latest requested first, then
// base replicas from the end; a multi-GPU learner goes as a whole. Ended replicas do not count:
// they stay for their logs and counts, and a client that wants one less means a living one. The
// answer names the removed replicas by ordinal. Never fails, even if there are fewer.
Change shrink(const JobView& view, const RemoveRequest& request);

}  // namespace nervex::server
