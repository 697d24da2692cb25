// webhook/review_memory.h - how much memory may it take to review this body? Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace nervex::webhook {

// An upper bound, the body itself not counted: its values as a document, the copies that are made
// of it, and the report of what is wrong. A text of small arrays becomes 70 times as large.
// tests/webhook/review_memory_test.cpp counts what reviews really take. Cost: one look at each
// byte.
std::size_t review_memory(std::string_view body);

}  // namespace nervex::webhook
