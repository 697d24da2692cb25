// webhook/answer.h - what does a caller of the webhook get to read? HTTP around review(). Pure.
#pragma once

#include <string>

#include "base/http/messages.h"
#include "webhook/review.h"

namespace nervex::webhook {

// Every review that can be judged is answered 200 with an AdmissionReview, refusals too. Otherwise
// there is no AdmissionReview, and the API server does as the hook's failurePolicy says:
// 405: not a POST; 400: no AdmissionReview; 500: `check` is null, because the schema is not loaded.
HttpReply answer(const HttpRequest& request, Hook hook, const SchemaCheck* check,
                 const std::string& server_user);

// What the HTTP server refuses by itself, in the same form: the API server shows it to the user.
HttpReply refusal(int status, const std::string& reason);

}  // namespace nervex::webhook
