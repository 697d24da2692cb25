// job/validate_template.h - could a pod be made from this template? What its OpenAPI schema omits.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "job/validate.h"

namespace nervex::job {

// Checks a PodTemplateSpec that stands at `path`: containers, names, images, resources, volumes.
// The rules are those of the API server for pods (kubernetes 1.36, pkg/apis/core/validation), so
// that what would be noticed at the first pod is noticed at admission. Parts of a wrong type are
// passed over: a schema tells of them.
void validate_template(const Json& pod_template, const std::string& path, FieldErrors& errors);

// Checks the name of the container or volume that stands at `path` against those `seen` before it,
// and adds it to them.
void validate_item_name(const Json& item, const std::string& path,
                        std::set<std::string, std::less<>>& seen, FieldErrors& errors);

}  // namespace nervex::job
