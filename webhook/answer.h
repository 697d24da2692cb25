// webhook/answer.h - what does a caller of the webhook get to read? HTTP around review().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/http/messages.h"
#include "webhook/review.h"

namespace nervex::webhook {

// Where reviews get from what they need.
struct Sources {
  // The schema of now; null: it is not loaded yet.
  std::function<std::shared_ptr<const job::SchemaCheck>()> check;
  // Asked when `outdated` does not know a field: the schema of now, loaded again. May be the
  // same. `received`: since when the caller has been waiting; it must be left the time to read the
  // answer, here and below.
  std::function<std::shared_ptr<const job::SchemaCheck>(const job::SchemaCheck& outdated,
                                                        MonoTime received)>
      newer_check;
  // Asked for the validating hook; for the mutating one only about what it refuses, so that all
  // that is wrong is said at once.
  // `http`: what the review came in, for its caller and since when that has been waiting.
  std::function<Facts(const kube::AdmissionRequest&, Hook, const HttpRequest& http)> facts;
  std::string server_user;  // who may write spec.requests
  Strictness host_access = Strictness::kWarn;
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;
  Strictness pod_access = Strictness::kRefuse;
  Strictness capacity = Strictness::kWarn;
  // What one review may take (webhook/review_memory.h).
  std::size_t review_bytes = SIZE_MAX;
};

// Every review that can be judged is answered 200 with an AdmissionReview, refusals too. Otherwise
// there is no AdmissionReview, and the API server does as the hook's failurePolicy says:
// 405: not a POST; 400: no AdmissionReview; 500: the schema is not loaded.
HttpReply answer(const HttpRequest& request, Hook hook, const Sources& sources);

// What the HTTP server refuses by itself, in the same form: the API server shows it to the user.
HttpReply refusal(int status, const std::string& reason);

}  // namespace nervex::webhook
