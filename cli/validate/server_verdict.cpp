#include "cli/validate/server_verdict.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "job/aggregator_config.h"

namespace nervex::cli {
namespace {

using Findings = std::vector<Finding>;

constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// What `kubectl apply` last applied; null: nothing.
Json last_applied(const Json& stored) {
  const auto applied =
      kube::parse_json(kube::string_at(stored, {"metadata", "annotations", kLastApplied}));
  return applied && applied->is_object() ? *applied : Json();
}

// kubectl's three-way merge of custom resources: removes members that were applied and are now
// omitted; replaces lists as a whole.
void merge(const Json& applied, const Json& object, Json& stored) {
  for (const auto& [key, value] : applied.items()) {
    if (!object.contains(key)) stored.erase(key);
  }
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) {
      stored.erase(key);
    } else if (value.is_object() && stored.contains(key) && stored[key].is_object()) {
      const Json* before = kube::find(applied, {key});
      const bool has_members = before != nullptr && before->is_object();
      merge(has_members ? *before : Json::object(), value, stored[key]);
    } else {
      stored[key] = value;
    }
  }
}

// Labels and annotations as in `object`; the rest stays the cluster's.
void replace_metadata(const Json& object, Json& metadata) {
  for (const char* member : {"labels", "annotations"}) {
    metadata.erase(member);
    if (const Json* found = kube::find(object, {"metadata", member})) metadata[member] = *found;
  }
}

// Notes about the stored object, in addition to the verdict.
void append_notes(const Json& stored, const Json& object, Findings& findings) {
  const char* command = last_applied(stored).is_null() ? "replace" : "apply";
  findings.push_back(
      {"",
       fmt::format("the object exists: checked as the change that kubectl {} would make", command),
       false});
  if (kube::find(stored, {"metadata", "deletionTimestamp"}) != nullptr) {
    findings.push_back({"metadata.deletionTimestamp",
                        "the object is being deleted, so its spec is not checked", false});
  }
  for (const char* member : {"resourceVersion", "uid"}) {
    const Json* own = kube::find(object, {"metadata", member});
    const Json* now = kube::find(stored, {"metadata", member});
    if (own == nullptr || (now != nullptr && *own == *now)) continue;
    findings.push_back(
        {fmt::format("metadata.{}", member),
         "differs from the stored object, so kubectl would report a conflict: leave it out",
         false});
  }
}

// Of one of the judged kinds.
const kube::ResourceKind& find_resource_kind(const Json& object) {
  const std::string kind = kube::string_at(object, {"kind"});
  if (kind == "Queue") return kube::kQueues;
  return kind == job::kAggregatorConfigKind ? kube::kAggregatorConfigs : kube::kNervexJobs;
}

// "": the object has no namespace.
std::string find_namespace(const kube::ResourceKind& resource, const Json& object,
                           const std::string& otherwise) {
  if (resource.plural == kube::kQueues.plural) return "";
  return kube::string_at(object, {"metadata", "namespace"}, otherwise);
}

struct Question {
  const kube::ResourceKind& resource;
  std::string_view method;
  std::string_view verb;  // "create"
  std::string path;
  std::string_view content_type;
};

// The API server's message: `User "ann" cannot create resource ...`.
bool is_missing_right(std::string_view message) { return message.find(" cannot ") != message.npos; }

Error not_allowed(std::string_view verb, const kube::ResourceKind& resource,
                  const std::string& ns) {
  return {Code::kForbidden,
          ns.empty()
              ? fmt::format("you may not {0} {1}: ask for the right ({0} {1}.{2}), or leave "
                            "out --server",
                            verb, resource.plural, resource.group)
              : fmt::format("you may not {0} {2} in namespace {1}: choose another namespace "
                            "with -n, ask for the right ({0} {2}.{3}), or leave out --server",
                            verb, ns, resource.plural, resource.group)};
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
  if (error.code == Code::kUnauthorized && is_missing_right(message)) {
    return not_allowed(question.verb, question.resource, ns);
  }
  // The right is present: a policy or a hook has refused the job.
  if (error.code == Code::kForbidden) return Findings{{"", message}};
  return error;
}

Result<Findings> ask_to_change(kube::Api& api, const kube::ResourceKind& resource,
                               const std::string& ns, const Json& stored, const Json& object) {
  const std::string name = kube::string_at(object, {"metadata", "name"});
  auto findings =
      send(api, {resource, "PUT", "update", kube::api_path(resource, ns, name), "application/json"},
           ns, changed_object(stored, object));
  if (findings) append_notes(stored, object, *findings);
  return findings;
}

}  // namespace

Json changed_object(const Json& stored, const Json& object) {
  Json changed;
  if (const Json applied = last_applied(stored); !applied.is_null()) {
    changed = stored;
    merge(applied, object, changed);
  } else {
    changed = object;
    const Json* metadata = kube::find(stored, {"metadata"});
    const bool has_metadata = metadata != nullptr && metadata->is_object();
    changed["metadata"] = has_metadata ? *metadata : Json::object();
    replace_metadata(object, changed["metadata"]);
  }
  changed.erase("status");
  if (const Json* status = kube::find(stored, {"status"})) changed["status"] = *status;
  const Json* requests = kube::find(stored, {"spec", "requests"});
  const bool has_own = kube::find(object, {"spec", "requests"}) != nullptr;
  const bool has_spec = changed.contains("spec") && changed["spec"].is_object();
  if (requests != nullptr && !has_own && has_spec) changed["spec"]["requests"] = *requests;
  for (const char* member : {"resourceVersion", "uid", "creationTimestamp"}) {
    const Json* now = kube::find(stored, {"metadata", member});
    if (now != nullptr) changed["metadata"][member] = *now;
  }
  changed["metadata"].erase("managedFields");
  return changed;
}

Result<Findings> ask_server(kube::Api& api, const std::string& ns, const Json& object) {
  const kube::ResourceKind& resource = find_resource_kind(object);
  const std::string where = find_namespace(resource, object, ns);
  const std::string name = kube::string_at(object, {"metadata", "name"});
  const auto create = [&] {
    return send(api,
                {resource, "POST", "create", kube::api_path(resource, where), "application/json"},
                where, object);
  };
  if (name.empty()) return create();
  // Between question and answer the controller may write, or the object may be created or deleted.
  constexpr int kMaxTries = 5;
  for (int tries = 1;; ++tries) {
    const auto stored = kube::get_object(api, resource, where, name);
    if (!stored && stored.error().code != Code::kNotFound) {
      const Error& error = stored.error();
      const bool may_not = error.code == Code::kUnauthorized && is_missing_right(error.message);
      return may_not ? not_allowed("get", resource, where) : error;
    }
    auto findings = stored ? ask_to_change(api, resource, where, *stored, object) : create();
    if (findings || tries == kMaxTries) return findings;
    const bool is_outdated = findings.error().code == Code::kConflict ||
                             (stored && findings.error().code == Code::kNotFound);
    if (!is_outdated) return findings;
  }
}

}  // namespace nervex::cli
