// cli/simulate/answer_text.h - how does a terminal show the answer of a Simulation? Pure.
#pragma once

#include <string>

#include "kube/model/json.h"

namespace nervex::cli {

// `what`: "dqn", "4 more collectors of dqn", "what waits". `spec`, `status`: of the answered
// Simulation. Ends with a newline.
std::string describe_answer(const std::string& what, const Json& spec, const Json& status);

}  // namespace nervex::cli
