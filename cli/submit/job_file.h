// cli/submit/job_file.h - which job does a user's file describe?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::cli {

// The only job of the file ("-": standard input), with `assignments` applied: set_field.h.
// kInvalid: it holds anything else.
Result<Json> read_job_file(const std::string& file, const std::vector<std::string>& assignments);

}  // namespace nervex::cli
