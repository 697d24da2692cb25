// controller/decide/status/waiting.h - what does a job wait for: the gang that it starts with,
// later requests, an AggregatorConfig?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// What a condition has to say.
struct Finding {
  bool is_true = false;
  std::string_view reason;
  std::string message;
};

// Of condition Scheduled: does the gang that the job starts with have its places, and if not, why?
Finding check_scheduled(const Round& round);
// Of RequestsScheduled: of what was requested on top, the first gang that waits. nullopt: nothing
// was ever requested. A gang that waited and was removed again leaves no message: nothing waits any
// more.
std::optional<Finding> check_requests_scheduled(const Round& round);
// Of AggregatorMissing. nullopt: the job has an aggregator, or wants none, and never lacked one.
std::optional<Finding> check_aggregator_missing(const Round& round);

// The job, or a part of it, waits for an AggregatorConfig.
bool waits_for_config(const Round& round);

}  // namespace nervex::controller
