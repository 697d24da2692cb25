// cli/suite_namespace.h - in which namespace do the programs of the suite run?
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "base/error.h"
#include "kube/api.h"

namespace nervex::cli {

// --system-namespace, or the variable NERVEX_SYSTEM_NAMESPACE; empty: not given.
void add_suite_namespace_flag(CLI::App& command, std::string& ns);

// The namespace of the Service that a webhook configuration names; "nervex-system" if it names none
// or cannot be read. Pure.
std::string suite_namespace(const Result<Json>& webhook_configuration);

// `given`, else the namespace that the mutating webhook configuration names.
std::string find_suite_namespace(kube::Api& api, const std::string& given);

}  // namespace nervex::cli
