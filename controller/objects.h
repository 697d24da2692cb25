// controller/objects.h - the kinds that only the controller reads: services and AggregatorConfigs.
#pragma once

#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::controller {

struct Service {  // only whose it is matters: its spec follows from the job
  kube::Meta meta;
  bool operator==(const Service&) const = default;
};
Result<Service> decode_service(std::string_view json);

struct AggregatorConfig {
  kube::Meta meta;
  Json pod_template;  // of the aggregator
  bool operator==(const AggregatorConfig&) const = default;
};
Result<AggregatorConfig> decode_aggregator_config(std::string_view json);

// The uid of the NerveXJob that is the controller of the object; "" if there is none.
std::string owner_job_uid(const kube::Meta& meta);
// "namespace/name" of that job; "" if there is none.
std::string owner_job_key(const kube::Meta& meta);

}  // namespace nervex::controller
