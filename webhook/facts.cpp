#include "webhook/facts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "job/aggregator_config.h"
#include "job/template/syntax.h"
#include "job/types.h"
#include "kube/model/namespace.h"
#include "queue/tree.h"
#include "webhook/priorities.h"

namespace nervex::webhook {
namespace {

constexpr kube::ResourceKind kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews"};
constexpr std::size_t kMaxUserBytes = std::size_t{256} << 10U;

// Requests that many reviews share go through RecentAnswers, which itself checks for an answer.
std::function<Result<Nothing>()> before_sending(const MayAsk& may_ask) {
  if (!may_ask) return {};
  return [&may_ask] { return may_ask([] { return false; }); };
}

// "" as name: the list. For an impossible name kNotFound without a request: the API server would
// parse it as a path.
Result<std::string> read(kube::Api& api, const kube::ResourceKind& kind, std::string_view ns,
                         const std::string& name, const MayAsk& may_ask) {
  if (!name.empty() && !job::pod_template::dns_subdomain_problem(name).empty()) {
    return Error{Code::kNotFound, "no such name"};
  }
  return api.send({.method = "GET",
                   .path = kube::api_path(kind, ns, name),
                   .body = "",
                   .content_type = "",
                   .before_sending = before_sending(may_ask),
                   .on_refusal = {}});
}

Result<Json> get(kube::Api& api, const kube::ResourceKind& kind, std::string_view ns,
                 const std::string& name, const MayAsk& may_ask) {
  const auto reply = read(api, kind, ns, name, may_ask);
  return reply ? kube::parse_json(*reply) : reply.error();
}

Result<job::FieldErrors> ask_about(const Json& object, std::string_view role,
                                   TemplateDryRuns& dry_runs, const std::string& version,
                                   const MayAsk& may_ask) {
  const std::string key = template_key(object, role);
  if (key.empty()) return job::FieldErrors{};
  const auto verdict = dry_runs.ask(
      key, version, [&] { return pod_template_to_ask(object, role); }, may_ask);
  if (!verdict) return verdict.error();
  return errors_in_job(*verdict, object, role);
}

// Without labels if it does not exist.
Result<kube::Namespace> read_namespace(kube::Api& api, const std::string& name,
                                       const MayAsk& may_ask) {
  const auto reply = read(api, kube::kNamespaces, "", name, may_ask);
  if (reply) return kube::decode_namespace(*reply);
  if (reply.error().code != Code::kNotFound) return reply.error();
  kube::Namespace ns;
  ns.meta.name = name;
  return ns;
}

// Of this queue alone, or of none if it does not exist.
Result<queue::QueueTree> read_queue(kube::Api& api, const std::string& name,
                                    const MayAsk& may_ask) {
  const auto reply = read(api, kube::kQueues, "", name, may_ask);
  if (!reply && reply.error().code == Code::kNotFound) return queue::QueueTree();
  auto parsed = reply ? queue::parse_queue(*reply) : reply.error();
  if (!parsed) return parsed.error();
  return queue::QueueTree({std::make_shared<const queue::Queue>(*std::move(parsed))});
}

// Why a job may not use the queue that it, or its namespace, names. nullopt: it may, or none is
// named.
Result<std::optional<queue::Inadmissible>> find_queue_problem(kube::Api& api,
                                                              const std::string& wanted,
                                                              const std::string& ns_name,
                                                              const MayAsk& may_ask) {
  const auto ns = read_namespace(api, ns_name, may_ask);
  if (!ns) return ns.error();
  const std::string& named = wanted.empty() ? kube::label(ns->meta, queue::kQueueLabel) : wanted;
  if (named.empty()) return std::optional<queue::Inadmissible>();
  const auto tree = read_queue(api, named, may_ask);
  if (!tree) return tree.error();
  auto found = queue::find_queue(*tree, named, *ns);
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
    return ask_about(object, role, dry_runs, version, may_ask);
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

void ask_pod_access(const kube::AdmissionRequest& request, kube::Api& api, Facts& facts,
                    const MayAsk& may_ask) {
  if (templates_to_ask(request).empty()) return;
  Json attributes = {{"verb", "create"}, {"resource", "pods"}};
  // An AggregatorConfig's pods run in the namespaces of all jobs: no namespace means all.
  if (request.kind == job::kKind) attributes["namespace"] = request.ns;
  Json spec = {{"user", request.user},
               {"groups", request.groups},
               {"resourceAttributes", std::move(attributes)}};
  if (!request.user_uid.empty()) spec["uid"] = request.user_uid;
  if (request.user_extra.is_object()) spec["extra"] = request.user_extra;
  const std::string body = kube::to_text({{"apiVersion", "authorization.k8s.io/v1"},
                                          {"kind", "SubjectAccessReview"},
                                          {"spec", std::move(spec)}});
  if (body.size() > kMaxUserBytes) {
    facts.access_error =
        "the user's groups and extra fields are too long for a SubjectAccessReview";
    return;
  }
  const auto reply = api.send({.method = "POST",
                               .path = kube::api_path(kAccessReviews),
                               .body = body,
                               .content_type = "application/json",
                               .before_sending = before_sending(may_ask),
                               .on_refusal = {}});
  const auto reviewed =
      reply ? kube::parse_json(*reply, kube::kMaxJsonDepth, {"spec", 0}) : reply.error();
  if (reviewed) {
    facts.may_create_pods = kube::bool_at(*reviewed, {"status", "allowed"});
  } else {
    facts.access_error = reviewed.error().message;
  }
}

void ask_priorities(const kube::AdmissionRequest& request, kube::Api& api, Facts& facts,
                    const MayAsk& may_ask) {
  std::map<std::string, std::optional<ClassPriority>> known;
  const FindPriority find = [&](const std::string& name) {
    const auto [at, is_new] = known.try_emplace(name);
    if (!is_new) return at->second;
    const auto answer = get(api, kube::kPriorityClasses, "", name, may_ask);
    if (answer) {
      at->second = name.empty() ? default_class_priority(*answer) : decode_class_priority(*answer);
    } else if (answer.error().code != Code::kNotFound) {
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

void ask_queue(const kube::AdmissionRequest& request, kube::Api& api, Facts& facts,
               const MayAsk& may_ask) {
  if (request.kind != job::kKind || !changes_spec(request)) return;
  const auto wanted = kube::string_at(request.object, {"spec", "queue"});
  const bool is_update = !request.old_object.is_null();
  if (is_update && wanted == kube::string_at(request.old_object, {"spec", "queue"})) return;
  const auto problem = find_queue_problem(api, wanted, request.ns, may_ask);
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

void ask_aggregator_config(const kube::AdmissionRequest& request, kube::Api& api,
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
  const auto found =
      get(api, kube::kAggregatorConfigs, name.substr(0, slash), name.substr(slash + 1), may_ask);
  if (found || found.error().code != Code::kNotFound) return;
  facts.warnings.push_back(
      fmt::format("no AggregatorConfig {}: the job {}", name,
                  mode == "PerJob" ? "waits until it exists" : "starts without an aggregator"));
}

}  // namespace nervex::webhook
