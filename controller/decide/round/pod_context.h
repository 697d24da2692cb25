// controller/decide/round/pod_context.h - how are the templates of the attempt rendered, and does
// it use the namespace's Service?
#pragma once

#include "controller/decide/round/attempt.h"
#include "controller/decide/round/observed.h"
#include "controller/decide/round/round.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// Decided in each round until the attempt has a PodGroup: by --services, and by whether another
// owner has the Service of the namespace's name. Then the mode stays, even if the flag changes, as
// pods are not rendered again; but Shared becomes PerPod when that Service is no longer ours, as a
// pod's own Service can name any pod. Never the reverse. An attempt begun without a mode has
// PerPod.
job::ServiceMode service_mode(const Observed& seen, const Attempt& attempt);

// A Service of the namespace's name exists and is not ours.
bool is_service_name_taken(const Observed& seen);

// The context in the mode PerPod.
job::PodContext pod_context(const Observed& seen, const Attempt& attempt);
// The same, in the mode of the round's job.
job::PodContext pod_context(const Round& round);

}  // namespace nervex::controller
