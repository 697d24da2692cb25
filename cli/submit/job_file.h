// cli/submit/job_file.h - which job does a user's file describe?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/cluster_flags.h"
#include "kube/model/json.h"

namespace nervex::cli {

// The only job of the file ("-": standard input), with `assignments` applied: set_field.h.
// kInvalid: it holds anything else.
Result<Json> read_job_file(const std::string& file, const std::vector<std::string>& assignments);

// The job's own, else `configured`; "": the job and --namespace name different ones. Pure.
std::string choose_namespace(const Json& job, const ClusterFlags& flags,
                             const std::string& configured);
// What is said then. Pure.
std::string describe_two_namespaces(const std::string& file, const ClusterFlags& flags);

}  // namespace nervex::cli
