#include "kube/model/namespace.h"

#include <utility>

namespace nervex::kube {

Result<Namespace> decode_namespace(std::string_view json) {
  const auto object = parse_json(json);
  if (!object) return with_context("namespace", object.error());
  Meta all = decode_meta(*object);
  if (all.name.empty()) return Error{Code::kInvalid, "namespace: metadata.name is missing"};
  Namespace ns;
  ns.meta.name = std::move(all.name);
  ns.meta.uid = std::move(all.uid);
  ns.meta.resource_version = std::move(all.resource_version);
  ns.meta.labels = std::move(all.labels);
  return ns;
}

}  // namespace nervex::kube
