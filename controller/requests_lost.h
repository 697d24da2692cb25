// controller/requests_lost.h - did what nervex-server wrote into the job's spec vanish?
#pragma once

#include "job/types.h"

namespace nervex::controller {

// True from when spec.requests counts fewer ordinals than were ever seen (status.next) until the
// attempt ends: the entries are lost even when the next request brings the counters back. While it
// is true nothing may be deleted, or taken out of the PodGroup, because a request for it is absent:
// the coordinator still works with those pods.
bool requests_lost(const job::Job& job);

// The counters alone: spec.requests is behind the status.
bool is_behind_status(const job::Job& job);

}  // namespace nervex::controller
