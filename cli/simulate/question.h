// cli/simulate/question.h - how do a user's flags become the spec of a Simulation? Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::cli {

// "dqn=4": spec.grow without a role. kInvalid: not JOB=NUMBER.
Result<Json> parse_growth(const std::string& text);

// Each "+8:LIKE" or "-NODE": spec.nodes; null: there are none. kInvalid: neither of both.
Result<Json> parse_node_changes(const std::vector<std::string>& texts);

}  // namespace nervex::cli
