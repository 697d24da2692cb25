// webhook/bounded.h - how do all reviews share a budget of memory?
#pragma once

#include <chrono>

#include "base/http/messages.h"
#include "base/memory_budget.h"

namespace nervex::webhook {

// `review` with at most the budget's memory in use by all reviews at once, by review_memory(). One
// that finds none free within `timeout` is answered 503 with Retry-After: the API server asks again
// by itself, maybe another replica. One that needs more than there ever is gets 413. The budget
// must outlive the handler. Its callers are addresses.
HttpHandler bounded(MemoryBudget& budget, std::chrono::milliseconds timeout, HttpHandler review);

}  // namespace nervex::webhook
