// webhook/review_memory.h - how much memory does a review take, and which jobs are too large? Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "kube/model/admission.h"

namespace nervex::webhook {

// How much memory it may take to review this body, an upper bound, the body itself not counted: its
// values as a document, the copies that are made of it, and the report of what is wrong. A text of
// small arrays becomes 70 times as large. tests/webhook/bounded_test.cpp counts what reviews really
// take. Cost: one look at each byte, and a slower one at those of a large review.
std::size_t review_memory(std::string_view body);

// What the review of an update takes at most whose old and new object are each like `object`, a
// JSON text, and what programs of ours add to a job of 5,000 pods while it runs.
std::size_t update_memory(std::string_view object);

// Whether the object of the request, which is within a body of `body_bytes`, could be stored but
// not be changed any more: its update would need more than `budget` bytes. False of an update that
// makes the object hardly larger: it may suspend the job, or be the way back. Cost: of a body below
// a quarter of a MiB none, with the program's budget; else that of writing the object as text.
bool is_too_large_to_change(const kube::AdmissionRequest& request, std::size_t body_bytes,
                            std::size_t budget);

}  // namespace nervex::webhook
