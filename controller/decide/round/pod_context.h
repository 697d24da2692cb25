// controller/decide/round/pod_context.h - what are the templates of the attempt rendered with, and
// does it use the namespace's Service?
#pragma once

#include "controller/decide/round/attempt.h"
#include "controller/decide/round/observed.h"
#include "controller/decide/round/round.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// Decided again until the attempt has a PodGroup: by --services, and by whether the Service of the
// namespace's name is not ours. Then the mode stays, also if the flag changes, since pods are not
// rendered again; but Shared becomes PerPod when that Service is not ours any more: a Service of
// its own names any pod. Never back. An attempt that was begun without a mode has PerPod.
job::ServiceMode service_mode(const Observed& seen, const Attempt& attempt);

// A Service of the namespace's name is there and is not ours.
bool is_service_name_taken(const Observed& seen);

// What templates are rendered with, in the mode PerPod.
job::PodContext pod_context(const Observed& seen, const Attempt& attempt);
// The same, in the mode of the round's job.
job::PodContext pod_context(const Round& round);

}  // namespace nervex::controller
