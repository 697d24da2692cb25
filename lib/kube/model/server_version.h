// kube/model/server_version.h - which Kubernetes is it, and is it one that the suite supports?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

// The oldest minor version of Kubernetes 1 that the suite supports: docs/reference/versions.md.
inline constexpr int kOldestMinor = 31;

// "v1.36.3" of the API server's reply to GET /version.
Result<std::string> decode_server_version(std::string_view reply);

// 36 of "v1.36.3-gke.100"; none if it is no version of Kubernetes 1.
std::optional<int> read_minor(std::string_view version);

// False only if it is known to be older.
bool is_supported(std::string_view version);

}  // namespace nervex::kube
