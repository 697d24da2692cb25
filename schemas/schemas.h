// schemas/schemas.h - the OpenAPI schemas of the API objects, as text inside the program.
//
// The files beside this one are the only source: the CRDs are generated from them
// (scripts/generate-manifests), and the build puts them into the programs that ask for them.
#pragma once

#include <string_view>

namespace nervex::schemas {

// The openAPIV3Schema of each kind, JSON. Static storage.
std::string_view nervex_job();
std::string_view aggregator_config();
std::string_view pod_group();
std::string_view queue();

// What `kubectl get --raw /openapi/v3/api/v1` of Kubernetes 1.36 says about PodTemplateSpec and all
// it refers to, without descriptions. For programs that have no cluster to ask.
std::string_view pod_template();
inline constexpr std::string_view kPodTemplateVersion = "1.36";

}  // namespace nervex::schemas
