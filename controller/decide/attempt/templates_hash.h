// controller/decide/attempt/templates_hash.h - have templates, topologies or node classes changed
// since the PodGroup was made? Pure.
#pragma once

#include <string>
#include <string_view>

#include "job/aggregator_config.h"
#include "job/types.h"

namespace nervex::controller {

// A version, and a hash for each part: volumes, then each role's template with its topology and
// node classes. The last part is of the aggregator's template, if the gang has a slot for an
// aggregator, or says that the job waits for one. `config` may be null. Cost: the templates' size.
std::string templates_hash(const job::Spec& spec, const job::AggregatorConfig* config);
// Whether a part differs from `planned`. If `is_committed`, ignores a role that had no template
// then, and the aggregator's template: none of the gang's pods is created again. False if another
// version wrote it.
bool has_other_templates(std::string_view planned, std::string_view now, bool is_committed);

}  // namespace nervex::controller
