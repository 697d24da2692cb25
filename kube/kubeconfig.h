// kube/kubeconfig.h - what do kubeconfig files say about server and user of their current context?
// The door to yaml-cpp.
#pragma once

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "kube/config.h"

namespace nervex::kube {

// Of entries with the same name in several files the first counts. kInvalid says which part is
// missing or not supported.
Result<ConnectionConfig> read_kubeconfigs(const std::vector<std::filesystem::path>& files);

}  // namespace nervex::kube
