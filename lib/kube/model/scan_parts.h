// kube/model/scan_parts.h - which pieces do several scans share? Private to kube/model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/model/resources.h"
#include "kube/model/scan.h"
#include "kube/model/shared.h"

namespace nervex::kube {

// {"a":"b"}: the whole map, or only the keys in `keep`.
StringMap scan_strings(Value value);
StringMap scan_strings(Value value, const std::vector<std::string>& keep);

// A ResourceList as written, without unreadable quantities.
std::vector<ResourceAmount> scan_amounts(Value value);

// One entry of status.conditions.
struct Condition {
  std::string type;
  bool is_true = false;
  bool is_false = false;
  std::string reason;
  std::string message;
  SysTime since{};  // lastTransitionTime
};
Condition scan_condition(Value value);
// nullopt: not an RFC 3339 time.
std::optional<SysTime> scan_time(Value value);

}  // namespace nervex::kube
