#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace nervex::cli {
namespace {

constexpr std::array<const char*, 6> kNames{"text", "table", "wide", "json", "yaml", "name"};

const char* output_name(Output output) { return kNames.at(static_cast<std::size_t>(output)); }

// Texts that no YAML reader takes for something else stay as they are; others are quoted as in
// JSON, which YAML includes.
std::string yaml_text(const std::string& text) {
  constexpr std::array<std::string_view, 9> kOtherTypes{"true", "false", "yes", "no", "on",
                                                        "off",  "null",  "y",   "n"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const bool is_word =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
      std::all_of(text.begin(), text.end(), is_plain) &&
      std::find(kOtherTypes.begin(), kOtherTypes.end(), lower) == kOtherTypes.end();
  return is_word ? text : escape_controls(kube::to_text(Json(text)));
}

std::string yaml_scalar(const Json& value) {
  return value.is_string() ? yaml_text(value.get_ref<const std::string&>()) : kube::to_text(value);
}

bool is_block(const Json& value) { return value.is_structured() && !value.empty(); }

void append_yaml(const Json& value, std::size_t indent, std::string& out);

// After "key:" or "-".
void append_member(const Json& value, std::size_t indent, std::string& out) {
  if (is_block(value)) {
    out += '\n';
    append_yaml(value, indent, out);
  } else {
    out += fmt::format(" {}\n", yaml_scalar(value));
  }
}

void append_yaml(const Json& value, std::size_t indent, std::string& out) {
  const std::string before(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      out += before + yaml_text(key) + ":";
      append_member(member, indent + (member.is_object() ? 2 : 0), out);
    }
    return;
  }
  for (const auto& item : value) {
    if (!is_block(item)) {
      out += fmt::format("{}- {}\n", before, yaml_scalar(item));
      continue;
    }
    std::string block;
    append_yaml(item, indent + 2, block);
    block[indent] = '-';
    out += block;
  }
}

}  // namespace

void add_output_flag(CLI::App& command, Output& output, const std::vector<Output>& allowed) {
  output = allowed.front();
  std::vector<std::string> names;
  names.reserve(allowed.size());
  for (const Output each : allowed) names.emplace_back(output_name(each));
  command
      .add_option_function<std::string>(
          "-o,--output",
          [&output](const std::string& text) {
            const auto* at = std::find(kNames.begin(), kNames.end(), text);
            output = static_cast<Output>(at - kNames.begin());
          },
          "output format")
      ->check(CLI::IsMember(names))
      ->type_name("FORMAT")
      ->default_str(names.front());
}

void write_out(std::string_view text) {
  write_log_line(printable_output(text, has_colours(stdout)));
}

void write_log_line(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) _exit(kExitFailure);
}

Json versioned(std::string_view kind, Json body) {
  body["apiVersion"] = "cli.nervex.sensetime.com/v1";
  body["kind"] = kind;
  return body;
}

std::string serialize(const Json& value, Output output) {
  if (output == Output::kYaml) return to_yaml(value);
  return escape_controls(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string serialize_line(const Json& value, Output output) {
  return output == Output::kYaml ? "---\n" + to_yaml(value)
                                 : escape_controls(kube::to_text(value)) + "\n";
}

std::string to_yaml(const Json& value) {
  if (!is_block(value)) return yaml_scalar(value) + "\n";
  std::string out;
  append_yaml(value, 0, out);
  return out;
}

}  // namespace nervex::cli
