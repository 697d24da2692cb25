// server/http/identity.h - which user does a bearer token belong to, and what may it do? Pure:
// TokenReview and SubjectAccessReview as values (authentication.k8s.io/v1, authorization.k8s.io/v1;
// Kubernetes 1.36).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/http/messages.h"
#include "kube/model/json.h"

namespace nervex::server {

struct Identity {
  std::string user;  // "system:serviceaccount:rl:default", "jane"
  std::string uid;
  std::vector<std::string> groups;
  Json extra = Json::object();  // passed unchanged to the SubjectAccessReview
  // For a token projected into a pod; otherwise empty.
  std::string pod_ns;
  std::string pod_name;
  std::string pod_uid;
  bool operator==(const Identity&) const = default;

  bool is_pod() const { return !pod_uid.empty(); }
};

// The token of "Authorization: Bearer <token>". kUnauthorized, saying what to send, if it is
// missing.
Result<std::string> bearer_token(const RequestHeaders& headers);

Json token_review(std::string_view token);
// kUnauthorized, with the API server's reason, if the token is invalid or has another audience: a
// token for the API server is too valuable to be sent here.
Result<Identity> identity_in(const Json& token_review);

// An action on NerveXJobs: `verb` as in RBAC, `name` empty for all in the namespace, `ns` empty for
// all namespaces.
struct JobAccess {
  std::string verb;
  std::string ns;
  std::string name;
  bool operator==(const JobAccess&) const = default;
};

Json subject_access_review(const Identity& who, const JobAccess& access);
bool is_allowed(const Json& subject_access_review);

}  // namespace nervex::server
