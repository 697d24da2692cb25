// job/job_name.h - can a job of this name have pods and services?
#pragma once

#include <string>
#include <string_view>

namespace nervex::job {

// RFC 1035 (k8s.io/apimachinery/pkg/util/validation): what names of services must be. A prefix may
// end in a hyphen.
bool is_dns_1035(std::string_view name, bool is_prefix = false);

// "" if so, else what is wrong with it. The webhook says the same at admission.
std::string objection_to_job_name(std::string_view name);

}  // namespace nervex::job
