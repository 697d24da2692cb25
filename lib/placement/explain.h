// placement/explain.h - why does a gang wait, as a sentence for people?
#pragma once

#include <string>

#include "gang/no_fit.h"

namespace nervex::placement {

// "learner: 6 of 32 do not fit: each needs nvidia.com/gpu 8; 26 nodes have it free, 9 more are
// full, 3 have untolerated taints". Stays the same while the numbers do.
std::string explain(const gang::NoFit& no_fit);
// The same without the leading role.
std::string explain_without_role(const gang::NoFit& no_fit);

}  // namespace nervex::placement
