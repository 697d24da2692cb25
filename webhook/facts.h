// webhook/facts.h - what does the cluster say about the job of a review? Asks; review() decides.
#pragma once

#include <functional>
#include <string>

#include "kube/model/admission.h"
#include "webhook/nodes.h"
#include "webhook/review.h"
#include "webhook/template_dry_run.h"

namespace nervex::webhook {

// Asks the API server about the templates that the request brings or changes (templates_to_ask()).
// `version`: of the cluster's OpenAPI. What nobody answers, or is not asked because it is late by
// then, becomes a warning.
// `may_ask`, here and below: as of TemplateDryRuns; its error is taken for the API server's. Of
// what RecentAnswers knows it is not asked.
Facts gather_facts(
    const kube::AdmissionRequest& request, TemplateDryRuns& dry_runs, const std::string& version,
    const std::function<bool()>& is_late = [] { return false; }, const MayAsk& may_ask = {});

// Whether the user of a request that brings templates may create pods in its namespace, into
// `facts`; of an AggregatorConfig in all namespaces. Nobody is asked about a user of whom there is
// more than 256 KiB to say: that would be sent, repeated by the API server, and read.
void ask_pod_access(const kube::AdmissionRequest& request, kube::Api& api, Facts& facts,
                    const MayAsk& may_ask = {});

// Whether the cluster would refuse pods for the priority that a template states (priorities.h),
// into `facts`. What the API server does not tell is let pass: warnings_for() warns of it.
void ask_priorities(const kube::AdmissionRequest& request, kube::Api& api, Facts& facts,
                    const MayAsk& may_ask = {});

// Whether the job could ever run, into `facts`; of a request that changes what its pods need.
void ask_capacity(const kube::AdmissionRequest& request, Nodes& nodes, Facts& facts);

// A warning if a new job, of which `request` tells, finds no AggregatorConfig of that name
// ("namespace/name"), or if a new AggregatorConfig has another one: no job is made from it.
void ask_aggregator_config(const kube::AdmissionRequest& request, kube::Api& api,
                           const std::string& name, Facts& facts, const MayAsk& may_ask = {});

}  // namespace nervex::webhook
