#include "cli/help/complete.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace nervex::cli {
namespace {

using Words = std::vector<std::string>;

// --flag=value as one word, also if the shell made three of it.
Words join_at_equals(const Words& typed) {
  Words joined;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const bool is_equals = typed[i] == "=" && !joined.empty() && joined.back().starts_with("--");
    if (!is_equals) {
      joined.push_back(typed[i]);
      continue;
    }
    joined.back() += "=";
    if (i + 1 < typed.size()) joined.back() += typed[++i];
  }
  return joined;
}

const CLI::App* find_verb(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

const CLI::Option* find_flag(const CLI::App& verb, const std::string& word) {
  return verb.get_option_no_throw(word.substr(0, word.find('=')));
}

bool takes_value(const CLI::Option& flag) { return flag.get_items_expected_max() > 0; }

// "FORMAT:{json,yaml}" lists its values.
Words listed_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto from = type.find('{');
  const auto to = type.rfind('}');
  if (from == std::string::npos || to == std::string::npos) return {};
  return CLI::detail::split(type.substr(from + 1, to - from - 1), ',');
}

Completion complete_value(const CLI::Option& option) {
  using More = Completion::More;
  const std::string type = option.get_type_name();
  if (type == "JOB") return {{}, More::kJobs};
  if (type == "QUEUE") return {{}, More::kQueues};
  if (type == "FILE" || type == "FOLDER") return {{}, More::kFiles};
  if (option.get_lnames() == Words{"namespace"}) return {{}, More::kNamespaces};
  if (type == "ROLE[/ORDINAL]") {
    return {{"aggregator", "collector", "coordinator", "ddp-learner", "learner"}, More::kNothing};
  }
  return {listed_values(option), More::kNothing};
}

Completion complete_flag(const CLI::App& verb) {
  Completion completion;
  for (const CLI::Option* flag : verb.get_options()) {
    for (const auto& name : flag->get_lnames()) completion.words.push_back("--" + name);
  }
  return completion;
}

Completion complete_word(const CLI::App& verb, std::size_t positionals) {
  Completion completion;
  for (const CLI::App* each : verb.get_subcommands([](const CLI::App*) { return true; })) {
    completion.words.push_back(each->get_name());
  }
  if (!completion.words.empty()) return completion;
  const auto options =
      verb.get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (options.empty()) return completion;
  const bool is_beyond = positionals >= options.size();
  const CLI::Option& last = *options.back();
  if (is_beyond && last.get_items_expected_max() < CLI::detail::expected_max_vector_size) {
    return completion;
  }
  return complete_value(is_beyond ? last : *options[positionals]);
}

void keep_beginning_with(const std::string& prefix, Completion& completion) {
  std::erase_if(completion.words, [&](const auto& word) { return !word.starts_with(prefix); });
  std::sort(completion.words.begin(), completion.words.end());
}

}  // namespace

Completion complete(const CLI::App& app, const std::vector<std::string>& typed) {
  const bool is_split = std::find(typed.begin(), typed.end(), "=") != typed.end();
  const Words words = join_at_equals(typed);
  const CLI::App* verb = &app;
  const CLI::Option* waiting = nullptr;  // a flag whose value comes next
  std::size_t positionals = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (waiting != nullptr) {
      waiting = nullptr;
    } else if (word.starts_with('-') && word != "-") {
      const CLI::Option* flag = find_flag(*verb, word);
      const bool has_value = word.find('=') != std::string::npos;
      if (flag != nullptr && takes_value(*flag) && !has_value) waiting = flag;
    } else if (const CLI::App* next = find_verb(*verb, word)) {
      verb = next;
    } else {
      ++positionals;
    }
  }

  const std::string last = words.empty() ? "" : words.back();
  const auto equals = last.find('=');
  const CLI::Option* assigned =
      last.starts_with("--") && equals != std::string::npos ? find_flag(*verb, last) : nullptr;
  Completion completion;
  if (waiting != nullptr) {
    completion = complete_value(*waiting);
    keep_beginning_with(last, completion);
  } else if (assigned != nullptr) {
    completion = complete_value(*assigned);
    keep_beginning_with(last.substr(equals + 1), completion);
    for (auto& word : completion.words) {
      if (!is_split) word.insert(0, last, 0, equals + 1);
    }
  } else {
    completion = last.starts_with('-') ? complete_flag(*verb) : complete_word(*verb, positionals);
    keep_beginning_with(last, completion);
  }
  return completion;
}

std::string typed_value(const std::vector<std::string>& typed, const std::string& long_name,
                        const std::string& short_name) {
  const Words words = join_at_equals(typed);
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_flag = words[i] == long_name || (!short_name.empty() && words[i] == short_name);
    // The last word is still being typed.
    if (is_flag && i + 2 < words.size()) value = words[i + 1];
    if (words[i].starts_with(long_name + "=")) value = words[i].substr(long_name.size() + 1);
  }
  return value;
}

std::string completion_script(const std::string& shell) {
  // `nervexctl __complete` prints one word a line, then as kubectl's plugins do ":4", or ":0" if
  // files may come, too.
  if (shell == "bash") {
    return R"(_nervexctl() {
  local words
  words=$(nervexctl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  local typed=${COMP_WORDS[COMP_CWORD]}
  [ "$typed" = "=" ] && typed=
  COMPREPLY=($(compgen -W "${words%:*}" -- "$typed"))
  [ "${words##*:}" = 0 ] && compopt -o default
}
complete -F _nervexctl nervexctl kubectl-nervex
)";
  }
  if (shell == "zsh") {
    return R"(#compdef nervexctl kubectl-nervex
_nervexctl() {
  local -a lines
  lines=("${(@f)$(nervexctl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- "${(@)lines[1,-2]}"
  [[ ${lines[-1]} == :0 ]] && _files
}
compdef _nervexctl nervexctl kubectl-nervex
)";
  }
  return R"(function __nervexctl_words
  set -l words (commandline -opc) (commandline -ct)
  nervexctl __complete $words[2..-1] 2>/dev/null | string match -v -r '^:'
end
complete -c nervexctl -f -a '(__nervexctl_words)'
complete -c kubectl-nervex -f -a '(__nervexctl_words)'
complete -c nervexctl -s f -l filename -r -F
)";
}

}  // namespace nervex::cli
