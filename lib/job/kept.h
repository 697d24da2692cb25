// job/kept.h - what do caches keep of a job? About the bytes of its text at most, as users decide
// how large it is.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "job/types.h"

namespace nervex::job {

// Its templates and volumes packed (kube::SharedJson), without labels, and of the annotations only
// kSubmittedByAnnotation.
Job packed(Job job);
// parse_job() and that.
Result<Job> parse_packed(std::string_view json);
// The same job with templates and volumes that can be read. Cost: parses them.
Job unpacked(Job job);

// Bytes of the text of a packed job's templates and volumes, whether kept or left out.
std::size_t template_bytes(const Job& job);
// A packed job without its templates and volumes: who needs them reads the job again. Job::
// left_out_bytes says so.
Job left_out(Job job);

// For a program that makes no pods: of each template only the main container's port is left, no
// volumes, labels or annotations.
Job without_templates(Job job);
// parse_job() and that.
Result<Job> parse_without_templates(std::string_view json);

}  // namespace nervex::job
