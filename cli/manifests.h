// cli/manifests.h - which objects does a file of YAML or JSON hold?
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

// All documents, lists (kind: List) taken apart; empty documents are left out. Plain scalars are
// read as kubectl reads them: `yes` is true, 010 is 8, and what is in quotes is text. kInvalid with
// line and column: no YAML, or a key that stands twice in one map; the line is also stored in
// `error_line` if given.
Result<std::vector<Manifest>> parse_manifests(std::string_view text, int* error_line = nullptr);

}  // namespace nervex::cli
