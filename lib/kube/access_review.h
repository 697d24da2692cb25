// kube/access_review.h - who answered a write with 403: the authorizer or admission?
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace nervex::kube {

// The authorizer and admission (quota, webhooks, policies) both answer 403 Forbidden. Admission's
// refusal is final. The authorizer's may be temporary: a starting API server refuses everything
// until its roles are read, and a role may be granted just after the program starts. So a 403 leads
// to a SelfSubjectAccessReview (Kubernetes authorization.k8s.io/v1; system:basic-user lets every
// account create it):
//   right missing, or no answer   kUnauthorized: retry later, end nothing
//   right present                 the write is sent once more, as the right may be newer than
//                                 the 403; a second 403 is admission's: kForbidden
// Admission never refuses a read: its 403 is always kUnauthorized.
//
// Repeating is safe, because a write answered with 403 had no effect. Costs two requests per
// refused write, none otherwise. Not covered: with several API servers, a ready one may answer the
// review and a starting one both writes. Thread-safe.
class AccessReviewApi final : public Api {
 public:
  explicit AccessReviewApi(Api& api) : api_(api) {}

  Result<std::string> send(const ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

 private:
  bool is_allowed(const ApiRequest& request);

  Api& api_;
};

// The spec.resourceAttributes for such a request; nullopt: it does not write an object.
std::optional<Json> resource_attributes(std::string_view method, std::string_view path);

}  // namespace nervex::kube
