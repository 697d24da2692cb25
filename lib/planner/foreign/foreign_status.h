// planner/foreign/foreign_status.h - which status does the PodGroup of another operator get?
// Pure.
#pragma once

#include "planner/facts/foreign_view.h"

namespace nervex::planner {

// Only its counts and phase follow from the pods.
kube::ForeignPodGroupStatus make_foreign_status(const ForeignGangSeen& seen, SysTime now);

}  // namespace nervex::planner
