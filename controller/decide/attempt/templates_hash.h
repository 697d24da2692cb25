// controller/decide/attempt/templates_hash.h - were templates changed since the PodGroup was made
// of them? Pure.
#pragma once

#include <string>
#include <string_view>

#include "job/aggregator_config.h"
#include "job/types.h"

namespace nervex::controller {

// On the PodGroup: hashes of volumes and templates that its member sets, and the pods of its slots,
// are made of. None: an earlier version made it.
inline constexpr const char* kTemplatesAnnotation = "nervex.sensetime.com/templates";
// A version, and a hash for each part; the last one is of the aggregator's template, if the gang
// has a place for an aggregator, or says that the job waits for one. `config` may be null. Cost:
// the templates' size.
std::string templates_hash(const job::Spec& spec, const job::AggregatorConfig* config);
// Whether a part differs of what was `planned`. Of a gang that `is_committed` neither a role that
// had no template then nor the aggregator's template matters: none of its pods is made again. False
// if another version has written it.
bool has_other_templates(std::string_view planned, std::string_view now, bool is_committed);

}  // namespace nervex::controller
