// cli/help/reference_page.h - what does docs/reference/cli.md say of each verb? Pure.
#pragma once

#include <string>

#include <CLI/App.hpp>

namespace nervex::cli {

// A section for each verb, in Markdown, from what --help prints: text, flags, examples, exit
// status.
std::string reference_page(const CLI::App& app);

}  // namespace nervex::cli
