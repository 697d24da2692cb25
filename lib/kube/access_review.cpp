#include "kube/access_review.h"

#include <utility>
#include <vector>

namespace nervex::kube {
namespace {

constexpr ResourceKind kSelfReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews"};

std::vector<std::string> split_path(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    segments.emplace_back(segment);
    path.remove_prefix(segment.size());
  }
  return segments;
}

std::string_view to_verb(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

}  // namespace

// "/api/v1/namespaces/a/pods/p/status", "/apis/g/v1/namespaces/a/things", "/api/v1/nodes/n".
std::optional<Json> resource_attributes(std::string_view method, std::string_view path) {
  const auto segments = split_path(path);
  const std::string_view verb = to_verb(method);
  if (verb.empty() || segments.empty()) return std::nullopt;
  const bool is_core = segments[0] == "api";
  if (!is_core && segments[0] != "apis") return std::nullopt;
  std::size_t at = is_core ? 1 : 2;
  if (segments.size() <= at + 1) return std::nullopt;
  Json attributes = {
      {"verb", verb}, {"group", is_core ? "" : segments[1]}, {"version", segments[at]}};
  ++at;
  if (segments[at] == "namespaces" && segments.size() > at + 2) {
    attributes["namespace"] = segments[at + 1];
    at += 2;
  }
  attributes["resource"] = segments[at++];
  if (at < segments.size()) attributes["name"] = segments[at++];
  if (at < segments.size()) attributes["subresource"] = segments[at];
  return attributes;
}

Result<std::string> AccessReviewApi::send(const ApiRequest& request) {
  auto reply = api_.send(request);
  if (reply || reply.error().code != Code::kForbidden) return reply;
  if (request.method != "GET" && is_allowed(request)) return api_.send(request);
  Error error = reply.error();
  error.code = Code::kUnauthorized;
  return error;
}

Result<Nothing> AccessReviewApi::stream(const std::string& path,
                                        const std::function<bool(std::string_view line)>& on_line,
                                        std::stop_token stop) {
  auto end = api_.stream(path, on_line, std::move(stop));
  if (end || end.error().code != Code::kForbidden) return end;
  Error error = end.error();
  error.code = Code::kUnauthorized;
  return error;
}

bool AccessReviewApi::is_allowed(const ApiRequest& request) {
  auto attributes = resource_attributes(request.method, request.path);
  if (!attributes) return false;
  const Json review = {{"apiVersion", "authorization.k8s.io/v1"},
                       {"kind", "SelfSubjectAccessReview"},
                       {"spec", {{"resourceAttributes", *std::move(attributes)}}}};
  const auto reviewed = create_object(api_, kSelfReviews, "", review);
  return reviewed && bool_at(*reviewed, {"status", "allowed"});
}

}  // namespace nervex::kube
