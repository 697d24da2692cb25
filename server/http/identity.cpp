#include "server/http/identity.h"

#include <algorithm>

#include <fmt/format.h>

#include "job/server_token.h"
#include "kube/api.h"

namespace nervex::server {
namespace {

constexpr std::string_view kScheme = "bearer ";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

Error denied(std::string message) { return {Code::kUnauthorized, std::move(message)}; }

char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool starts_with_scheme(std::string_view value) {
  return value.size() > kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), value.begin(),
                    [](char want, char is) { return want == lower(is); });
}

std::string extra_value(const Json& extra, const char* key) {
  const Json& values = kube::array_at(extra, {key});
  return values.size() == 1 && values[0].is_string() ? values[0].get<std::string>() : "";
}

// "system:serviceaccount:NAMESPACE:NAME"
std::string namespace_of_account(std::string_view user) {
  if (!user.starts_with(kServiceAccountPrefix)) return "";
  user.remove_prefix(kServiceAccountPrefix.size());
  return std::string(user.substr(0, user.find(':')));
}

bool is_for_us(const Json& status) {
  const Json& audiences = kube::array_at(status, {"audiences"});
  return std::find(audiences.begin(), audiences.end(), job::kServerTokenAudience) !=
         audiences.end();
}

}  // namespace

Result<std::string> bearer_token(const RequestHeaders& headers) {
  const std::string* header = find_header(headers, "authorization");
  if (header == nullptr || !starts_with_scheme(*header)) {
    return denied(
        fmt::format("this server requires authentication: send the header \"Authorization: Bearer "
                    "TOKEN\"; pods of jobs find the token in the file that {} names",
                    job::kServerTokenVariable));
  }
  std::string token = header->substr(kScheme.size());
  token.erase(0, token.find_first_not_of(' '));
  token.erase(token.find_last_not_of(" \t") + 1);
  if (token.empty()) return denied("the bearer token is empty");
  return token;
}

Json token_review(std::string_view token) {
  return {{"apiVersion", "authentication.k8s.io/v1"},
          {"kind", "TokenReview"},
          {"spec", {{"token", token}, {"audiences", Json::array({job::kServerTokenAudience})}}}};
}

Result<Identity> identity_in(const Json& token_review) {
  const Json* status = kube::find(token_review, {"status"});
  if (status == nullptr || !kube::bool_at(*status, {"authenticated"})) {
    const std::string why = kube::string_at(token_review, {"status", "error"}, "it is not valid");
    return denied("the bearer token is refused: " + why);
  }
  // An authenticator without audience support returns none and accepts any token.
  if (!is_for_us(*status)) {
    return denied(
        fmt::format("the bearer token is not for the audience {}", job::kServerTokenAudience));
  }
  Identity who;
  who.user = kube::string_at(*status, {"user", "username"});
  who.uid = kube::string_at(*status, {"user", "uid"});
  for (const auto& group : kube::array_at(*status, {"user", "groups"})) {
    if (group.is_string()) who.groups.push_back(group.get<std::string>());
  }
  if (const Json* extra = kube::find(*status, {"user", "extra"})) who.extra = *extra;
  who.pod_name = extra_value(who.extra, "authentication.kubernetes.io/pod-name");
  who.pod_uid = extra_value(who.extra, "authentication.kubernetes.io/pod-uid");
  who.pod_ns = namespace_of_account(who.user);
  return who;
}

Json subject_access_review(const Identity& who, const JobAccess& access) {
  Json attributes = {{"group", kube::kNervexJobs.group},
                     {"version", kube::kNervexJobs.version},
                     {"resource", kube::kNervexJobs.plural},
                     {"verb", access.verb},
                     {"namespace", access.ns}};
  if (!access.name.empty()) attributes["name"] = access.name;
  return {{"apiVersion", "authorization.k8s.io/v1"},
          {"kind", "SubjectAccessReview"},
          {"spec",
           {{"user", who.user},
            {"uid", who.uid},
            {"groups", who.groups},
            {"extra", who.extra},
            {"resourceAttributes", std::move(attributes)}}}};
}

bool is_allowed(const Json& subject_access_review) {
  return kube::bool_at(subject_access_review, {"status", "allowed"}) &&
         !kube::bool_at(subject_access_review, {"status", "denied"});
}

}  // namespace nervex::server
