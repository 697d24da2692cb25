// job/aggregator_config.h - what are aggregators made from? The AggregatorConfig as a value.
#pragma once

#include <string_view>

#include "base/error.h"
#include "job/types.h"
#include "kube/model/meta.h"
#include "kube/model/shared_json.h"

namespace nervex::job {

inline constexpr std::string_view kAggregatorConfigKind = "AggregatorConfig";

struct AggregatorConfig {
  kube::Meta meta;
  kube::SharedJson pod_template;  // a PodTemplateSpec
  int port = 0;                   // where aggregators made from it listen
  bool operator==(const AggregatorConfig&) const = default;
};

// kInvalid: not JSON, or without a template.
Result<AggregatorConfig> parse_aggregator_config(std::string_view json);

// Does the job get an aggregator from the start, given whether an AggregatorConfig exists?
bool wants_aggregator(const Spec& spec, bool config_exists);
// The job must not start before an AggregatorConfig exists.
bool waits_for_aggregator(const Spec& spec, bool config_exists);

}  // namespace nervex::job
