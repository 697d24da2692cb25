#include "kube/model/quota.h"

#include "kube/model/json.h"
#include "kube/model/resources.h"

namespace nervex::kube {
namespace {

// The pod resource that a quota's name stands for; empty: unknown.
std::string requested(std::string_view name) {
  if (name == "pods" || name == "count/pods") return "pods";
  if (name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
      name.starts_with("hugepages-")) {
    return std::string(name);
  }
  constexpr std::string_view kRequests = "requests.";
  if (!name.starts_with(kRequests) || name == "requests.storage") return "";
  return std::string(name.substr(kRequests.size()));
}

std::int64_t decode_amount(const Json* list, const std::string& name, const std::string& resource) {
  if (list == nullptr || !list->is_object() || !list->contains(name)) return 0;
  const auto amount = decode_resources({{resource, (*list)[name]}});
  return amount ? amount->get(resource) : 0;
}

bool is_readable(const Json& quantity, const std::string& resource) {
  return decode_resources({{resource, quantity}}).has_value();
}

}  // namespace

Result<Quota> decode_quota(std::string_view json) {
  const auto object = parse_json(json);
  if (!object) return with_context("resourcequota", object.error());
  const Meta all = decode_meta(*object);
  if (all.name.empty()) return Error{Code::kInvalid, "resourcequota: metadata.name is missing"};
  Quota quota;
  quota.meta.ns = all.ns;
  quota.meta.name = all.name;
  quota.meta.uid = all.uid;
  quota.meta.resource_version = all.resource_version;
  const Json& scopes = array_at(*object, {"spec", "scopes"});
  quota.not_best_effort = scopes.size() == 1 && scopes[0] == "NotBestEffort";
  const bool has_selector = find(*object, {"spec", "scopeSelector"}) != nullptr;
  if (has_selector || (!scopes.empty() && !quota.not_best_effort)) return quota;
  const Json* hard = find(*object, {"status", "hard"});
  if (hard == nullptr) hard = find(*object, {"spec", "hard"});
  if (hard == nullptr || !hard->is_object()) return quota;
  const Json* used = find(*object, {"status", "used"});
  for (const auto& [name, quantity] : hard->items()) {
    const std::string resource = requested(name);
    if (resource.empty() || !is_readable(quantity, resource)) continue;
    quota.limits.push_back(
        {name, resource, decode_amount(hard, name, resource), decode_amount(used, name, resource)});
  }
  return quota;
}

}  // namespace nervex::kube
