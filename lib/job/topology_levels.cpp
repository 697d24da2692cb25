#include "job/topology_levels.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "job/template/syntax.h"

namespace nervex::job {
namespace {

bool has(std::span<const std::string> levels, std::string_view level) {
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

void check_level(const Json& section, std::string_view path, std::span<const std::string> levels,
                 FieldErrors& errors) {
  const std::string level = kube::string_at(section, {"topology", "level"});
  if (level.empty() || has(levels, level)) return;  // validate_job() reports an empty one
  errors.push_back({FieldErrorType::kNotSupported, fmt::format("{}.topology.level", path),
                    shown_value(level),
                    fmt::format("must be one of: {}; an administrator adds node labels with "
                                "--topology-levels of nervex-webhook and nervex-extender",
                                fmt::join(levels, ", "))});
}

}  // namespace

Result<std::vector<std::string>> parse_topology_levels(std::string_view text) {
  std::vector<std::string> levels;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string level(text.substr(begin, end - begin));
    if (const auto problem = pod_template::label_key_problem(level); !problem.empty()) {
      return Error{Code::kInvalid, fmt::format("\"{}\" is not a label key: {}", level, problem)};
    }
    if (has(levels, level)) {
      return Error{Code::kInvalid, fmt::format("{} is named twice", level)};
    }
    levels.push_back(std::move(level));
    begin = end + 1;
  }
  return levels;
}

std::vector<std::string> default_topology_levels() {
  return *parse_topology_levels(kDefaultTopologyLevels);
}

FieldErrors check_topology_levels(const Json& object, std::span<const std::string> levels) {
  FieldErrors errors;
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr) return errors;
  check_level(*spec, "spec", levels, errors);
  for (const std::string_view role : {"collector", "learner"}) {
    const Json* section = kube::find(*spec, {role});
    if (section != nullptr) check_level(*section, fmt::format("spec.{}", role), levels, errors);
  }
  return errors;
}

}  // namespace nervex::job
