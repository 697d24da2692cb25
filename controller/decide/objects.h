// controller/decide/objects.h - services as far as the controller reads them, and whose an object
// is.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "job/aggregator_config.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::controller {

struct Service {
  kube::Meta meta;
  std::uint64_t shape = 0;  // service_shape()
  bool operator==(const Service&) const = default;
};
Result<Service> decode_service(std::string_view json);

// A number for what matters of a service's spec: that it is headless, publishes addresses that are
// not ready, and whom it selects on which ports. Equal within this process for equal ones, be they
// manifests of ours or as the API server has them.
std::uint64_t service_shape(const Json& service);

using job::AggregatorConfig;

// The uid of the NerveXJob that is the controller of the object; "" if there is none.
std::string owner_job_uid(const kube::Meta& meta);
// "namespace/name" of that job; "" if there is none.
std::string owner_job_key(const kube::Meta& meta);

}  // namespace nervex::controller
