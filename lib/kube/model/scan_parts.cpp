#include "kube/model/scan_parts.h"

#include <algorithm>

#include "kube/model/pod_need.h"
#include "kube/model/quantity.h"

namespace nervex::kube {
namespace {

// A string, or the digits of a number: Kubernetes accepts both as quantities.
std::string_view quantity_text(Value value) {
  if (value.type() == simdjson::ondemand::json_type::number) {
    std::string_view token = value.raw_json_token();
    while (!token.empty() && token.back() <= ' ') token.remove_suffix(1);
    return token;
  }
  return scan_text(value);
}

}  // namespace

StringMap scan_strings(Value value) {
  StringMap strings;
  each_field(value,
             [&](std::string_view key, Value item) { strings.emplace(key, scan_string(item)); });
  return strings;
}

StringMap scan_strings(Value value, const std::vector<std::string>& keep) {
  StringMap strings;
  each_field(value, [&](std::string_view key, Value item) {
    if (std::find(keep.begin(), keep.end(), key) != keep.end()) {
      strings.emplace(key, scan_string(item));
    }
  });
  return strings;
}

std::vector<ResourceAmount> scan_amounts(Value value) {
  std::vector<ResourceAmount> amounts;
  each_field(value, [&](std::string_view name, Value item) {
    const auto amount = parse_quantity(quantity_text(item), resource_scale(name));
    if (amount) amounts.push_back({std::string(name), *amount});
  });
  return amounts;
}

std::optional<SysTime> scan_time(Value value) {
  const auto time = parse_rfc3339(scan_text(value));
  return time ? std::optional(*time) : std::nullopt;
}

Condition scan_condition(Value value) {
  Condition condition;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "type") {
      condition.type = scan_text(item);
    } else if (key == "status") {
      const std::string_view status = scan_text(item);
      condition.is_true = status == "True";
      condition.is_false = status == "False";
    } else if (key == "reason") {
      condition.reason = scan_text(item);
    } else if (key == "message") {
      condition.message = scan_text(item);
    } else if (key == "lastTransitionTime") {
      condition.since = scan_time(item).value_or(SysTime{});
    }
  });
  return condition;
}

}  // namespace nervex::kube
