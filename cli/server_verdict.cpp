#include "cli/server_verdict.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "job/aggregator_config.h"

namespace nervex::cli {
namespace {

using Findings = std::vector<Finding>;

// One of the two kinds that are judged.
const kube::ResourceKind& resource_of(const Json& object) {
  return kube::string_at(object, {"kind"}) == job::kAggregatorConfigKind ? kube::kAggregatorConfigs
                                                                         : kube::kNervexJobs;
}

struct Question {
  const kube::ResourceKind& resource;
  std::string_view method;
  std::string_view verb;  // "create"
  std::string path;
  std::string_view content_type;
};

Error not_allowed(const Question& question, const std::string& ns) {
  return {Code::kForbidden,
          fmt::format("you may not {0} {2} in namespace {1}: name one of yours with -n, ask for "
                      "the right ({0} {2}.{3}), or leave out --server",
                      question.verb, ns, question.resource.plural, question.resource.group)};
}

Result<Findings> send(kube::Api& api, const Question& question, const std::string& ns,
                      const Json& object) {
  std::optional<Findings> refused;
  std::string message;
  kube::ApiRequest request;
  request.method = question.method;
  request.path = question.path + "?dryRun=All&fieldValidation=Strict";
  request.body = kube::to_text(object);
  request.content_type = question.content_type;
  request.on_refusal = [&](int status, std::string_view body) {
    refused = findings_of_refusal(status, body);
    if (const auto said = kube::parse_json(body)) message = kube::string_at(*said, {"message"});
  };
  const auto answered = api.send(request);
  if (answered) return Findings{};
  if (refused) return *std::move(refused);
  const Error& error = answered.error();
  if (error.code == Code::kUnauthorized && message.find(" cannot ") != std::string::npos) {
    return not_allowed(question, ns);
  }
  // The right is there: a policy or a hook has refused the job.
  if (error.code == Code::kForbidden) return Findings{{"", message}};
  return error;
}

}  // namespace

Result<Findings> ask_server(kube::Api& api, const std::string& ns, const Json& object) {
  const kube::ResourceKind& resource = resource_of(object);
  const std::string own = kube::string_at(object, {"metadata", "namespace"});
  const std::string& where = own.empty() ? ns : own;
  auto findings =
      send(api, {resource, "POST", "create", kube::api_path(resource, where), "application/json"},
           where, object);
  const std::string name = kube::string_at(object, {"metadata", "name"});
  if (findings || findings.error().code != Code::kConflict || name.empty()) return findings;
  Json change = object;  // its status is not what is judged
  change.erase("status");
  findings = send(api,
                  {resource, "PATCH", "patch", kube::api_path(resource, where, name),
                   "application/merge-patch+json"},
                  where, change);
  if (findings) {
    findings->push_back({"", "it exists: this is the verdict on changing it", false});
  }
  return findings;
}

}  // namespace nervex::cli
