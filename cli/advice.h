// cli/advice.h - what can a person do about this job now? Pure.
#pragma once

#include <string>

#include "cli/view.h"

namespace nervex::cli {

// One or two sentences, with the commands to type. Always says something.
std::string advice(const JobView& view);

}  // namespace nervex::cli
