// webhook/facts.h - what does the cluster say about a reviewed job? Asks; review() decides.
#pragma once

#include <functional>
#include <string>

#include "kube/model/admission.h"
#include "webhook/nodes.h"
#include "webhook/recent_answers.h"
#include "webhook/review.h"
#include "webhook/template_dry_run.h"

namespace nervex::webhook {

// Asks the API server about the templates that the request adds or changes (templates_to_ask()).
// `version`: of the cluster's OpenAPI. A question without an answer, or skipped because it is late,
// becomes a warning. `may_ask`, here and below: called when no answer is kept; its error counts as
// the API server's.
Facts gather_facts(
    const kube::AdmissionRequest& request, TemplateDryRuns& dry_runs, const std::string& version,
    const std::function<bool()>& is_late = [] { return false; }, const MayAsk& may_ask = {});

// Sets in `facts` whether the user of a request with templates may create pods in its namespace;
// for an AggregatorConfig in all namespaces.
void ask_pod_access(const kube::AdmissionRequest& request, RecentAnswers& answers, Facts& facts,
                    const MayAsk& may_ask = {});

// Sets in `facts` whether the cluster would refuse pods for a template's priority (priorities.h).
// Without an answer the request passes: warnings_for() warns.
void ask_priorities(const kube::AdmissionRequest& request, RecentAnswers& answers, Facts& facts,
                    const MayAsk& may_ask = {});

// If the request names another queue than before: adds an error if the queue of the job, or of its
// namespace's label, does not allow the namespace, and a warning if that queue does not exist or
// the API server does not answer.
void ask_queue(const kube::AdmissionRequest& request, RecentAnswers& answers, Facts& facts,
               const MayAsk& may_ask = {});

// Sets in `facts` whether the job could ever run, if the request changes what its pods need.
void ask_capacity(const kube::AdmissionRequest& request, Nodes& nodes, Facts& facts);

// Adds a warning if the new job in `request` finds no AggregatorConfig of that name
// ("namespace/name"), or if a new AggregatorConfig has another name: no job uses it.
void ask_aggregator_config(const kube::AdmissionRequest& request, RecentAnswers& answers,
                           const std::string& name, Facts& facts, const MayAsk& may_ask = {});

}  // namespace nervex::webhook
