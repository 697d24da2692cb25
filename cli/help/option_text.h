// cli/help/option_text.h - how is an option described, in --help and on the reference page? Pure.
#pragma once

#include <string>

#include <CLI/App.hpp>

namespace nervex::cli {

// "FORMAT"; "" if it takes no value.
std::string value_name(const CLI::Option& option);

// What it means, its values, its default, and the variable that may hold it.
std::string describe_option(const CLI::Option& option);

// The verb's words, arguments and required flags: "logs JOB [ROLE[/ORDINAL]]".
std::string usage(const CLI::App& verb, const std::string& words);

}  // namespace nervex::cli
