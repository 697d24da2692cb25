// cli/verbs/completion.h - does a shell ask for the next word?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace nervex::cli {

// The words typed so far, if a shell's script or kubectl calls the program to complete them.
std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv);

// Prints the words that may come next, one a line, and at the end ":4", or ":0" if files may come,
// too. Returns the exit code.
int print_completion(const CLI::App& app, const std::vector<std::string>& typed);

}  // namespace nervex::cli
