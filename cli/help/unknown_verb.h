// cli/help/unknown_verb.h - which verb was meant by a word that is none? Pure.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace nervex::cli {

// The message for the first word that is not a verb, with what may have been meant: another
// spelling, or our verb for a word of other programs. Also for a flag before any verb, and if a
// verb that has verbs gets none. "": each word is known.
std::string describe_unknown_verb(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace nervex::cli
