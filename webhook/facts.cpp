#include "webhook/facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "job/aggregator_config.h"
#include "job/types.h"
#include "kube/model/namespace.h"
#include "queue/tree.h"
#include "webhook/priorities.h"

namespace nervex::webhook {
namespace {

// Why a job may not use the queue that it, or its namespace, names. nullopt: it may, or none is
// named.
Result<std::optional<queue::Inadmissible>> find_queue_problem(RecentAnswers& answers,
                                                              const std::string& wanted,
                                                              const std::string& ns_name,
                                                              const MayAsk& may_ask) {
  const auto found_ns = answers.find_namespace(ns_name, may_ask);
  if (!found_ns) return found_ns.error();
  kube::Namespace absent;
  absent.meta.name = ns_name;
  const kube::Namespace& ns = *found_ns ? **found_ns : absent;
  const std::string& named = wanted.empty() ? kube::label(ns.meta, queue::kQueueLabel) : wanted;
  if (named.empty()) return std::optional<queue::Inadmissible>();
  const auto found_queue = answers.find_queue(named, may_ask);
  if (!found_queue) return found_queue.error();
  const queue::QueueTree no_queue;
  auto found = queue::find_queue(*found_queue ? **found_queue : no_queue, named, ns);
  if (auto* problem = std::get_if<queue::Inadmissible>(&found)) return std::optional(*problem);
  return std::optional<queue::Inadmissible>();
}

// Every role has the job's volumes and priority class: their errors appear with each role, and are
// reported once. Errors of a role's own fields differ by field.
void append_unknown(job::FieldErrors& errors, job::FieldErrors more) {
  const auto known = errors;
  for (auto& error : more) {
    if (std::find(known.begin(), known.end(), error) == known.end()) {
      errors.push_back(std::move(error));
    }
  }
}

}  // namespace

Facts gather_facts(const kube::AdmissionRequest& request, TemplateDryRuns& dry_runs,
                   const std::string& version, const std::function<bool()>& is_late,
                   const MayAsk& may_ask) {
  Facts facts;
  const auto ask = [&](const Json& object, std::string_view role) -> Result<job::FieldErrors> {
    if (is_late()) return Error{Code::kTransient, "the API server takes too long"};
    const auto verdict = dry_runs.ask(object, role, version, may_ask);
    if (!verdict) return verdict.error();
    return errors_in_job(*verdict, object, role);
  };
  for (const std::string_view role : templates_to_ask(request)) {
    auto errors = ask(request.object, role);
    // What is stored matters only if it may excuse an error.
    const bool has_errors = errors && !errors->empty();
    auto stored = has_errors && !request.old_object.is_null() ? ask(request.old_object, role)
                                                              : job::FieldErrors{};
    if (!errors || !stored) {
      facts.template_error = (errors ? stored.error() : errors.error()).message;
      facts.warnings.push_back(
          "pod templates were not checked by the API server: their errors show when pods are "
          "created");
      return facts;
    }
    append_unknown(facts.errors, *std::move(errors));
    append_unknown(facts.stored_errors, *std::move(stored));
  }
  return facts;
}

void ask_pod_access(const kube::AdmissionRequest& request, RecentAnswers& answers, Facts& facts,
                    const MayAsk& may_ask) {
  if (templates_to_ask(request).empty()) return;
  // An AggregatorConfig's pods run in the namespaces of all jobs.
  const bool is_job = request.kind == job::kKind;
  const auto may = answers.may_create_pods(request, is_job ? request.ns : "", may_ask);
  if (may) {
    facts.may_create_pods = *may;
  } else {
    facts.access_error = may.error().message;
  }
}

void ask_priorities(const kube::AdmissionRequest& request, RecentAnswers& answers, Facts& facts,
                    const MayAsk& may_ask) {
  // Asks once for each class, also if there is no answer.
  std::map<std::string, std::optional<ClassPriority>> known;
  const FindPriority find = [&](const std::string& name) {
    const auto [at, is_new] = known.try_emplace(name);
    if (!is_new) return at->second;
    const auto answer = answers.find_priority(name, may_ask);
    if (answer) {
      at->second = *answer;
    } else {
      facts.priority_error = answer.error().message;
    }
    return at->second;
  };
  const auto roles = templates_to_ask(request);
  job::FieldErrors errors = priority_errors(request.object, roles, find);
  if (errors.empty()) return;
  append(facts.errors, std::move(errors));
  if (request.old_object.is_null()) return;
  append(facts.stored_errors, priority_errors(request.old_object, roles, find));
}

void ask_queue(const kube::AdmissionRequest& request, RecentAnswers& answers, Facts& facts,
               const MayAsk& may_ask) {
  if (request.kind != job::kKind || !changes_spec(request)) return;
  const auto wanted = kube::string_at(request.object, {"spec", "queue"});
  const bool is_update = !request.old_object.is_null();
  if (is_update && wanted == kube::string_at(request.old_object, {"spec", "queue"})) return;
  const auto problem = find_queue_problem(answers, wanted, request.ns, may_ask);
  if (!problem) {
    facts.queue_error = problem.error().message;
    facts.warnings.emplace_back(
        "spec.queue was not checked: if its queue does not allow the namespace, the job waits");
    return;
  }
  if (!*problem) return;
  std::string why = explain(**problem);
  if (wanted.empty()) why += fmt::format(", named by the namespace's label {}", queue::kQueueLabel);
  if (std::holds_alternative<queue::QueueNotFound>(**problem)) {
    facts.warnings.push_back(fmt::format("spec.queue: {}: the job waits until it does", why));
  } else if (std::holds_alternative<queue::QueueUnreadable>(**problem)) {
    facts.warnings.push_back(fmt::format("spec.queue: {}: the job waits until it can", why));
  } else {
    facts.errors.push_back({job::FieldErrorType::kForbidden, "spec.queue", "", std::move(why)});
  }
}

void ask_capacity(const kube::AdmissionRequest& request, Nodes& nodes, Facts& facts) {
  if (request.kind != job::kKind || !changes_spec(request)) return;
  auto verdict = nodes.find_never_fitting(request.object, request.old_object);
  facts.never_fits = std::move(verdict.object);
  facts.stored_never_fits = std::move(verdict.stored);
}

void ask_aggregator_config(const kube::AdmissionRequest& request, RecentAnswers& answers,
                           const std::string& name, Facts& facts, const MayAsk& may_ask) {
  if (request.operation != "CREATE") return;
  if (request.kind == job::kAggregatorConfigKind) {
    const std::string own = fmt::format("{}/{}", request.ns, request.name);
    if (own == name) return;
    facts.warnings.push_back(
        fmt::format("AggregatorConfig {} is not used: aggregators come from {}", own, name));
    return;
  }
  if (request.kind != job::kKind) return;
  const std::string mode = kube::string_at(request.object, {"spec", "aggregator"});
  if (mode == "OnDemand") return;
  const auto slash = name.find('/');
  const auto exists =
      answers.has_aggregator_config(name.substr(0, slash), name.substr(slash + 1), may_ask);
  if (!exists || *exists) return;
  facts.warnings.push_back(
      fmt::format("no AggregatorConfig {}: the job {}", name,
                  mode == "PerJob" ? "waits until it exists" : "starts without an aggregator"));
}

}  // namespace nervex::webhook
