// job/warnings.h - what of a right job may not be what its author means? Pure.
//
// The webhook and `nervexctl validate` say the same, from here. What needs the cluster (capacity,
// rights, AggregatorConfigs) is the webhook's own (webhook/facts.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::job {

// One line each, below 120 characters, for kubectl to show (the API server cuts longer ones):
// `spec.learner.template.spec.schedulerName: replaced by nervex-scheduler`. 20 at most of each
// function.

// `object` is a valid NerveXJob or AggregatorConfig.
std::vector<std::string> warnings_for(const Json& object);
// The same of find_host_access().
std::vector<std::string> host_access_warnings(const Json& object);

// What of a template decides where its pods may be and is not planned, because it depends on other
// pods or on devices: kube-scheduler has the last word, and a plan may have to be made several
// times until it agrees. The first such field, as "podAffinity"; "": none. `only_hard`: not one
// that is only preferred. `job` and `role` give the labels that the controller adds.
std::string left_to_scheduler(const Json& pod_template, const kube::Meta& job,
                              std::string_view role, bool only_hard);

// spec.reservationSeconds is above the administrator's limit, which bounds it in effect.
std::vector<std::string> reservation_seconds_warnings(const Json& object, int limit);

// What admission changes.
inline constexpr std::string_view kRequestsDropped =
    "only nervex-server may change spec.requests: the change was dropped";
inline constexpr std::string_view kStoredAsAll =
    "spec.cleanPodPolicy: ALL is stored as All, which tools that compare with a file notice";

// All of the above that the webhook with its default flags says, in its order, when a valid
// NerveXJob or AggregatorConfig is created as the user wrote it.
std::vector<std::string> warnings_on_create(const Json& object);

}  // namespace nervex::job
