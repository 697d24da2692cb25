// kube/model/namespace.h - the labels of a namespace.
#pragma once

#include <string_view>

#include "base/error.h"
#include "kube/model/meta.h"

namespace nervex::kube {

struct Namespace {
  Meta meta;  // only name, uid, resourceVersion and labels
  bool operator==(const Namespace&) const = default;
};

// kInvalid: not JSON, or metadata.name is missing.
Result<Namespace> decode_namespace(std::string_view json);

}  // namespace nervex::kube
