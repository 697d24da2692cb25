// cli/help/complete.h - which words may come next on the command line? Pure.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace nervex::cli {

struct Completion {
  // What else may come that `words` does not have.
  enum class More { kNothing, kJobs, kNamespaces, kQueues, kFiles };
  std::vector<std::string> words;  // that begin as the typed one, sorted
  More more = More::kNothing;
  bool operator==(const Completion&) const = default;
};

// `typed`: the words after the program's name; the last one is being typed and may be empty. A
// shell may have split --flag=value at "=" (bash), or not.
Completion complete(const CLI::App& app, const std::vector<std::string>& typed);

// The value of a flag that was typed: for the kubeconfig and namespace to read names from. "" if it
// was not.
std::string typed_value(const std::vector<std::string>& typed, const std::string& long_name,
                        const std::string& short_name = "");

// The script that a shell sources: "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell);

}  // namespace nervex::cli
