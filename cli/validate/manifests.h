// cli/validate/manifests.h - which objects does a YAML or JSON file contain?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::cli {

struct Manifest {
  Json object;
  int line = 1;  // where it begins in its file
};

// All documents, with lists (kind: List) split into items; empty documents are omitted. Plain
// scalars are read as in kubectl: `yes` is true, 010 is 8, and quoted text is text. kInvalid, with
// line and column: not YAML, or a duplicate key in a map; the line is also stored in `error_line`
// if given.
Result<std::vector<Manifest>> parse_manifests(std::string_view text, int* error_line = nullptr);

}  // namespace nervex::cli
