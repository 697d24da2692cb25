// cli/output.h - in which form does a verb print what it shows? Tables for people; JSON and YAML
// for programs, with a version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "kube/model/json.h"

namespace nervex::cli {

enum class Output { kText, kTable, kWide, kJson, kYaml, kName };

// -o; the first of `allowed` is the default.
void add_output_flag(CLI::App& command, Output& output, const std::vector<Output>& allowed);

// Writes to stdout at once, without characters that control a terminal (printable_output): all that
// verbs print goes through here. Ends the program if the reader has hung up, as `nervexctl list -w
// | head` does: TLS connections make us ignore SIGPIPE.
void write_out(std::string_view text);
// The same, unchanged: for a line of a pod's log, which may have colours of its own.
void write_log_line(std::string_view text);

// `body` with apiVersion and kind. Fields that programs rely on do not change within a version.
Json versioned(std::string_view kind, Json body);

// kJson and kYaml, with a final newline. Pure.
std::string serialize(const Json& value, Output output);
// One of several values: in JSON on one line, in YAML after "---".
std::string serialize_line(const Json& value, Output output);

// YAML that kubectl and parse_manifests() read as the same value. Pure.
std::string to_yaml(const Json& value);

}  // namespace nervex::cli
