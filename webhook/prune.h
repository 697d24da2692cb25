// webhook/prune.h - which part of a value is looked at?
#pragma once

#include <cstddef>

#include "kube/model/json.h"

namespace nervex::webhook {

// The value without the members that are null, at any depth: to the API server they are not there.
// Items of arrays stay.
Json without_nulls(const Json& value);

// The first `count` values of a document, in its order; what follows is left out, and so is what
// has a key longer than kMaxKeyLength: each error names all keys above it. A report on the whole of
// a hostile document could fill the memory.
Json first_values(const Json& value, std::size_t count);

}  // namespace nervex::webhook
