// job/aggregator_config.h - what are aggregators made from? The AggregatorConfig as a value.
#pragma once

#include <string_view>

#include "base/error.h"
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

// kInvalid: no JSON, or without a template.
Result<AggregatorConfig> parse_aggregator_config(std::string_view json);

}  // namespace nervex::job
