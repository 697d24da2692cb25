// planner/simulation/simulation.h - the Simulation object as a value: what would happen if?
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "job/types.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "planner/simulation/what_if.h"

namespace nervex::planner {

// More replicas of a job that waits or runs.
struct Growth {
  std::string job;
  job::Role role = job::Role::kCollector;  // kCollector or kLearner
  int replicas = 0;
  bool operator==(const Growth&) const = default;
};

inline constexpr int kDefaultTtlSeconds = 300;

// What is kept of each Simulation: it costs the same for each question. The question is read
// when its turn comes.
struct Simulation {
  kube::Meta meta;                       // without labels and annotations
  int ttl_seconds = kDefaultTtlSeconds;  // from completion
  std::optional<SysTime> completed{};
  bool operator==(const Simulation&) const = default;
};

// kInvalid: not JSON.
Result<Simulation> parse_simulation(std::string_view json);

// Of one question: it is read into memory, and its pods are rendered.
inline constexpr std::size_t kMostQuestionValues = 50'000;

// Its spec. Of `job` and `growth` at most one is set.
struct Question {
  std::string ns;
  std::string name;  // of the Simulation
  Json job;          // the spec of a NerveXJob that does not exist; null: none
  std::optional<Growth> growth;
  std::vector<AddedNodes> added;
  std::vector<std::string> removed;  // nodes
  bool operator==(const Question&) const = default;
};

// From the Simulation's JSON text. kInvalid: not JSON, or more than kMostQuestionValues values.
Result<Question> parse_question(std::string_view json);

// The status, within the limits of its schema: cuts long texts, and names at most 200 nodes and 100
// jobs, with the number of all.
Json encode_answer(const Answer& answer, SysTime completed);

}  // namespace nervex::planner
