#include "kube/model/server_version.h"

#include <charconv>

#include "kube/model/json.h"

namespace nervex::kube {

Result<std::string> decode_server_version(std::string_view reply) {
  const auto json = parse_json(reply);
  if (!json) return json.error();
  return string_at(*json, {"gitVersion"});
}

std::optional<int> read_minor(std::string_view version) {
  constexpr std::string_view kMajor = "v1.";
  if (!version.starts_with(kMajor)) return std::nullopt;
  version.remove_prefix(kMajor.size());
  int minor = 0;
  const auto read = std::from_chars(version.data(), version.data() + version.size(), minor);
  return read.ec == std::errc() ? std::optional(minor) : std::nullopt;
}

bool is_supported(std::string_view version) {
  const auto minor = read_minor(version);
  return !minor || *minor >= kOldestMinor;
}

}  // namespace nervex::kube
