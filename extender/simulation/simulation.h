// extender/simulation/simulation.h - the Simulation object as a value: what would happen if?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "extender/simulation/what_if.h"
#include "job/types.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "kube/model/shared_json.h"

namespace nervex::extender {

// More replicas of a job that waits or runs.
struct Growth {
  std::string job;
  job::Role role = job::Role::kCollector;  // kCollector or kLearner
  int replicas = 0;
  bool operator==(const Growth&) const = default;
};

inline constexpr int kDefaultTtlSeconds = 300;

// Of `job` and `growth` at most one is set.
struct Simulation {
  kube::Meta meta;
  kube::SharedJson job;  // the spec of a NerveXJob that does not exist; null: none
  std::optional<Growth> growth;
  std::vector<AddedNodes> added;
  std::vector<std::string> removed;      // nodes
  int ttl_seconds = kDefaultTtlSeconds;  // from completion
  std::optional<SysTime> completed{};
  bool operator==(const Simulation&) const = default;
};

// kInvalid names the field.
Result<Simulation> parse_simulation(std::string_view json);

// The status, within the limits of its schema: cuts long texts, and names at most 200 nodes and 100
// jobs, with the number of all.
Json encode_answer(const Answer& answer, SysTime completed);

}  // namespace nervex::extender
