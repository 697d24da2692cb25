// kube/access_review.h - who said 403 to a write: the authorizer, or admission?
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace nervex::kube {

// The authorizer and admission (quota, webhooks, policies) both answer 403 Forbidden. Admission's
// refusal is final; the authorizer's may pass by itself: an API server that starts refuses all
// until its roles are read, and a role may be granted a moment after the program starts. So after a
// 403 a SelfSubjectAccessReview is asked (Kubernetes authorization.k8s.io/v1; system:basic-user
// lets every account create it):
//   the right is missing, or nobody answers   kUnauthorized: ask again later, end nothing
//   the right is there                        the write is sent once more, since the right may have
//                                             come between the two; a second 403 is admission's:
//                                             kForbidden
// Admission never refuses a read: its 403 is always kUnauthorized.
//
// Repeating is safe: a write that was answered 403 had no effect. Costs two requests per refused
// write, none otherwise. Left open: behind several API servers of which one is starting, the review
// may be answered by one that is ready and the write twice by one that is not. Thread-safe.
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

// The spec.resourceAttributes that such a request needs; nullopt: it is no write of an object.
std::optional<Json> resource_attributes(std::string_view method, std::string_view path);

}  // namespace nervex::kube
