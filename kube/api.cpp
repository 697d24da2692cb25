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
  // The write may have taken effect: as with a lost reply, only looking again helps.
  if (!object)
    return Error{Code::kTransient,
                 fmt::format("{} {}: {}", request.method, request.path, object.error().message)};
  return object;
}

Json delete_options(std::string_view uid) {
  return {{"apiVersion", "v1"},
          {"kind", "DeleteOptions"},
          {"preconditions", {{"uid", uid}}},
          {"propagationPolicy", "Background"}};
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
  if (!ns.empty()) path += "/namespaces/" + percent_encode(ns);
  path += fmt::format("/{}", kind.plural);
  if (!name.empty()) path += "/" + percent_encode(name);
  if (!sub_resource.empty()) path += fmt::format("/{}", sub_resource);
  return path;
}

Result<Json> get_object(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name) {
  return send_for_object(api, {"GET", api_path(kind, ns, name), "", ""});
}

Result<Json> create_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object) {
  return send_for_object(api, {"POST", api_path(kind, ns), to_text(object), "application/json"});
}

Result<Json> merge_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                         std::string_view name, const Json& patch, std::string_view sub_resource) {
  return send_for_object(api, {"PATCH", api_path(kind, ns, name, sub_resource), to_text(patch),
                               "application/merge-patch+json"});
}

Result<Nothing> delete_object(Api& api, const ResourceKind& kind, std::string_view ns,
                              std::string_view name, std::string_view uid) {
  const std::string path = api_path(kind, ns, name);
  if (uid.empty()) return Error{Code::kInternal, fmt::format("DELETE {}: no uid given", path)};
  const auto reply = api.send({"DELETE", path, to_text(delete_options(uid)), "application/json"});
  if (!reply && reply.error().code != Code::kNotFound) return reply.error();
  return ok();
}

}  // namespace nervex::kube
