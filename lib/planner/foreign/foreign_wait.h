// planner/foreign/foreign_wait.h - why does a gang of another operator wait? A cause with
// its parameters. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "gang/no_fit.h"

namespace nervex::planner {

// Fewer of its pods exist than it needs to start.
struct TooFewPods {
  std::int64_t exist = 0;
  std::int64_t min_member = 0;
  bool operator==(const TooFewPods&) const = default;
};

// Its start has failed repeatedly: other gangs get the capacity until then.
struct StartPaused {
  int failures = 0;
  SysTime until{};
  bool operator==(const StartPaused&) const = default;
};

// The cluster has not as much free as spec.minResources of its PodGroup asks for.
struct MinResourcesNotFree {
  std::string resource;
  std::int64_t asked = 0;
  std::int64_t free = 0;
  bool operator==(const MinResourcesNotFree&) const = default;
};

struct ForeignWait {
  std::variant<gang::NoFit, TooFewPods, StartPaused, MinResourcesNotFree> cause;
  std::string refusal{};  // kube-scheduler's last message; "": none
  bool operator==(const ForeignWait&) const = default;
};

// One sentence for people, without a full stop.
std::string explain(const ForeignWait& wait);
// Equal but for amounts that change with every pod of the cluster.
bool same_cause(const ForeignWait& a, const ForeignWait& b);

}  // namespace nervex::planner
