// controller/desired_pod_group.h - what does a job want placed? Its floor, and what was requested.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/attempt.h"
#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// Does the job get an aggregator from the start, given whether an AggregatorConfig exists?
bool wants_aggregator(const job::Spec& spec, bool config_exists);
// The job must not start before an AggregatorConfig exists.
bool waits_for_aggregator(const job::Spec& spec, bool config_exists);

// The member sets of the base gang: coordinator, aggregator, the roles' floors. Named after roles.
std::vector<gang::MemberSet> base_sets(const job::Job& job, const job::PodContext& context);

// Those request entries of the current attempt that have a template to be made from.
std::vector<const job::RequestEntry*> live_entries(const job::Job& job,
                                                   const job::PodContext& context);
// "request-7" and "request-7-collector"
std::string gang_name(const job::RequestEntry& entry);
std::string set_name(const job::RequestEntry& entry);
// The current attempt's entries by the name of their set. Borrows from the job.
std::map<std::string, const job::RequestEntry*, std::less<>> entries_by_set(const job::Job& job);

// The whole PodGroup of the attempt, and the sets that an existing one lacks. The base sets of an
// existing PodGroup are never rendered again: its pods may run.
Json pod_group_manifest(const job::Job& job, const job::PodContext& context);
std::vector<gang::MemberSet> missing_sets(const job::Job& job, const gang::PodGroup& group,
                                          const job::PodContext& context);

// Takes out the slots of workers that have ended and whose pods are gone, so that their room is not
// held any longer. True if there were any. A set that becomes empty stays: its request was met.
bool drop_ended_slots(std::vector<gang::MemberSet>& sets,
                      const std::vector<job::Status::Ended>& ended, const Attempt& attempt);

}  // namespace nervex::controller
