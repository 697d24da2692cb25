#include "kube/api.h"

#include <fmt/format.h>

namespace nervex::kube {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

Result<Json> send_for_object(Api& api, const ApiRequest& request) {
  const auto body = api.send(request);
  if (!body) return body.error();
  auto object = parse_json(*body);
  // The write may have taken effect: as after a lost reply, only another read can tell.
  if (!object)
    return Error{Code::kTransient,
                 fmt::format("{} {}: {}", request.method, request.path, object.error().message)};
  if (!object->is_object()) {
    return Error{Code::kTransient,
                 fmt::format("{} {}: the reply is not an object", request.method, request.path)};
  }
  return object;
}

const char* to_string(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "Background";
}

Json encode(std::string_view uid, const DeleteOptions& options) {
  Json encoded = {{"apiVersion", "v1"},
                  {"kind", "DeleteOptions"},
                  {"preconditions", {{"uid", uid}}},
                  {"propagationPolicy", to_string(options.propagation)}};
  if (!options.resource_version.empty()) {
    encoded["preconditions"]["resourceVersion"] = options.resource_version;
  }
  if (options.grace_period_seconds) {
    encoded["gracePeriodSeconds"] = *options.grace_period_seconds;
  }
  if (options.dry_run == DryRun::kYes) encoded["dryRun"] = {"All"};
  return encoded;
}

std::string with_dry_run(std::string path, DryRun dry_run) {
  if (dry_run == DryRun::kNo) return path;
  return path + (path.find('?') == std::string::npos ? "?" : "&") + "dryRun=All";
}

std::string object_name(const Json& object) { return string_at(object, {"metadata", "name"}); }

// A request that the API server would refuse or that would do harm: a bug of ours.
Error misuse(std::string_view method, const std::string& path, std::string_view what) {
  return {Code::kInternal, fmt::format("{} {}: {}", method, path, what)};
}

}  // namespace

std::string percent_encode(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string api_path(const ResourceKind& kind, std::string_view ns, std::string_view name,
                     std::string_view sub_resource) {
  std::string path = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                        : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (!ns.empty()) path += fmt::format("/namespaces/{}", percent_encode(ns));
  path += fmt::format("/{}", kind.plural);
  if (!name.empty()) path += fmt::format("/{}", percent_encode(name));
  if (!sub_resource.empty()) path += fmt::format("/{}", sub_resource);
  return path;
}

std::string with_label(const std::string& path, std::string_view label, std::string_view value) {
  return fmt::format("{}?labelSelector={}%3D{}", path, percent_encode(label),
                     percent_encode(value));
}

Result<Json> get_object(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name) {
  return send_for_object(api, {"GET", api_path(kind, ns, name), "", ""});
}

Result<Json> create_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object, DryRun dry_run) {
  return send_for_object(api, {"POST", with_dry_run(api_path(kind, ns), dry_run), to_text(object),
                               "application/json"});
}

Result<Json> merge_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                         std::string_view name, const Json& patch, std::string_view sub_resource,
                         DryRun dry_run) {
  return send_for_object(
      api, {"PATCH", with_dry_run(api_path(kind, ns, name, sub_resource), dry_run), to_text(patch),
            "application/merge-patch+json"});
}

Result<Json> json_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name, const Json& operations) {
  return send_for_object(
      api, {"PATCH", api_path(kind, ns, name), to_text(operations), "application/json-patch+json"});
}

Result<Json> update_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object, std::string_view sub_resource, DryRun dry_run) {
  const std::string path = api_path(kind, ns, object_name(object), sub_resource);
  if (object_name(object).empty()) return misuse("PUT", path, "no name given");
  if (string_at(object, {"metadata", "resourceVersion"}).empty()) {
    return misuse("PUT", path, "no resourceVersion given");
  }
  return send_for_object(api,
                         {"PUT", with_dry_run(path, dry_run), to_text(object), "application/json"});
}

Result<Json> remove_finalizer(Api& api, const ResourceKind& kind, std::string_view ns,
                              std::string_view name, std::string_view uid,
                              std::string_view finalizer) {
  const Json patch = {
      {"metadata",
       {{"uid", uid}, {"$deleteFromPrimitiveList/finalizers", Json::array({finalizer})}}}};
  return send_for_object(api, {"PATCH", api_path(kind, ns, name), to_text(patch),
                               "application/strategic-merge-patch+json"});
}

Result<Json> apply_object(Api& api, const ResourceKind& kind, std::string_view ns,
                          const Json& object, std::string_view field_manager, Force force,
                          std::string_view sub_resource, DryRun dry_run) {
  const std::string path = api_path(kind, ns, object_name(object), sub_resource);
  const bool is_named = !object_name(object).empty() && !string_at(object, {"kind"}).empty() &&
                        !string_at(object, {"apiVersion"}).empty();
  if (!is_named) return misuse("PATCH", path, "apply needs apiVersion, kind and name");
  if (field_manager.empty()) return misuse("PATCH", path, "apply needs a field manager");
  if (find(object, {"metadata", "managedFields"}) != nullptr) {
    return misuse("PATCH", path, "apply must not hold managedFields");
  }
  std::string url = fmt::format("{}?fieldManager={}", path, percent_encode(field_manager));
  if (force == Force::kYes) url += "&force=true";
  // JSON is valid YAML, and the API server has no other name for the format.
  return send_for_object(api, {"PATCH", with_dry_run(std::move(url), dry_run), to_text(object),
                               "application/apply-patch+yaml"});
}

Result<Deletion> delete_object(Api& api, const ResourceKind& kind, std::string_view ns,
                               std::string_view name, std::string_view uid,
                               const DeleteOptions& options) {
  const std::string path = api_path(kind, ns, name);
  if (uid.empty() || name.empty()) return misuse("DELETE", path, "no uid or no name given");
  auto answer =
      send_for_object(api, {"DELETE", path, to_text(encode(uid, options)), "application/json"});
  if (answer) return Deletion{false, *std::move(answer)};
  if (answer.error().code == Code::kNotFound) return Deletion{true, {}};
  return answer.error();
}

}  // namespace nervex::kube
