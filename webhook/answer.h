// webhook/answer.h - how does the webhook answer an HTTP request? HTTP around review().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/http/messages.h"
#include "webhook/review.h"

namespace nervex::webhook {

// The inputs of reviews.
struct Sources {
  // The current schema; null: not loaded yet.
  std::function<std::shared_ptr<const job::SchemaCheck>()> check;
  // Called when `outdated` does not know a field. Returns the current schema, reloaded; may be the
  // same. `received`: when the caller started to wait. Here and below, the caller must have time
  // left to read the answer.
  std::function<std::shared_ptr<const job::SchemaCheck>(const job::SchemaCheck& outdated,
                                                        MonoTime received)>
      newer_check;
  // Called for the validating hook, and for the mutating one only if it refuses, so that all errors
  // come at once. `http`: the review's request, for its caller and time of receipt.
  std::function<Facts(const kube::AdmissionRequest&, Hook, const HttpRequest& http)> facts;
  std::string server_user;  // who may write spec.requests
  Strictness host_access = Strictness::kWarn;
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;
  std::vector<std::string> topology_levels = job::default_topology_levels();
  Strictness pod_access = Strictness::kRefuse;
  Strictness capacity = Strictness::kWarn;
  // Memory limit of one review (webhook/review_memory.h).
  std::size_t review_bytes = SIZE_MAX;
};

// Every review that can be judged gets 200 with an AdmissionReview, refusals too. Other answers
// have no AdmissionReview, so the API server applies the hook's failurePolicy: 405: not a POST;
// 400: no AdmissionReview; 500: the schema is not loaded.
HttpReply answer(const HttpRequest& request, Hook hook, const Sources& sources);

// The HTTP server's own refusals, in the same form: the API server shows them to the user.
HttpReply refusal(int status, const std::string& reason);

}  // namespace nervex::webhook
