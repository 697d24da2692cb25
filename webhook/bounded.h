// webhook/bounded.h - how do all reviews share a memory budget?
#pragma once

#include <chrono>

#include "base/http/messages.h"
#include "base/memory_budget.h"

namespace nervex::webhook {

// `review` within a memory budget for all concurrent reviews, by review_memory(). If no memory is
// free within `timeout`, the answer is 503 with Retry-After: the API server retries, maybe with
// another replica. A review larger than the whole budget gets 413. The budget must outlive the
// handler. Its callers are addresses.
HttpHandler bounded(MemoryBudget& budget, std::chrono::milliseconds timeout, HttpHandler review);

}  // namespace nervex::webhook
