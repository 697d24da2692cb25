// webhook/review_memory.h - how much memory does a review use, and which jobs are too large? Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "kube/model/admission.h"

namespace nervex::webhook {

// Upper bound on the memory to review this body, without the body itself: its values as a document,
// copies of it, and the error report. A text of small arrays becomes 70 times as large.
// tests/webhook/bounded_test.cpp measures real reviews. Cost: one pass over the bytes, and a slower
// one for a large review.
std::size_t review_memory(std::string_view body);

// Maximum for the review of an update whose old and new object are each like `object`, a JSON text,
// plus what our programs add to a job of 5,000 pods while it runs.
std::size_t update_memory(std::string_view object);

// Whether the request's object, within a body of `body_bytes`, could be stored but not changed
// later: an update would need more than `budget` bytes. False for an update that hardly enlarges
// the object, which may suspend the job or shrink it in steps. Cost: none for a body below a
// quarter of a MiB with the program's budget; else that of writing the object as text.
bool is_too_large_to_change(const kube::AdmissionRequest& request, std::size_t body_bytes,
                            std::size_t budget);

// Of an object as JSON. etcd takes requests of at most 1.5 MiB (--max-request-bytes): the rest is
// for the status and spec.requests of a large job, and their managedFields. A job without a status
// would have no phase, condition or event.
inline constexpr std::size_t kMaxStoredBytes = std::size_t{1280} << 10U;

// Whether the request's object has more bytes than that. False for an update that hardly enlarges
// it, as above. Cost: none for a smaller body; else that of writing the object as text.
bool is_too_large_to_store(const kube::AdmissionRequest& request, std::size_t body_bytes);

}  // namespace nervex::webhook
