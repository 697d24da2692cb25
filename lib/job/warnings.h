// job/warnings.h - which parts of a valid job may differ from its author's intent? Pure.
//
// The webhook and `nervexctl validate` share these. Warnings that need the cluster (capacity,
// rights, AggregatorConfigs) are the webhook's (webhook/facts.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::job {

// Each warning is one line below 120 characters for kubectl (the API server cuts longer ones):
// `spec.learner.template.spec.schedulerName: replaced by nervex-scheduler`. At most 20 per
// function.

// `object` is a valid NerveXJob or AggregatorConfig.
std::vector<std::string> warnings_for(const Json& object);
// The same for find_host_access().
std::vector<std::string> host_access_warnings(const Json& object);

// The first template field, such as "podAffinity", that restricts where pods may run but is not
// planned, because it depends on other pods or on devices; "": none. kube-scheduler decides on it,
// and the gang may need several plans. `job` and `role` give the labels that the controller adds.
std::string left_to_scheduler(const Json& pod_template, const kube::Meta& job,
                              std::string_view role);

// spec.reservationSeconds is above the administrator's limit, which then applies.
std::vector<std::string> reservation_seconds_warnings(const Json& object, int limit);

// What admission changes.
inline constexpr std::string_view kRequestsDropped =
    "only nervex-server may change spec.requests: the change was ignored";
inline constexpr std::string_view kStoredAsAll =
    "spec.cleanPodPolicy: ALL is stored as All: tools that compare it with a file see a difference";

// All warnings above, in the webhook's order and with its default flags, for a valid NerveXJob or
// AggregatorConfig as the user creates it.
std::vector<std::string> warnings_on_create(const Json& object);

}  // namespace nervex::job
