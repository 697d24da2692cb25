#include "webhook/requests_guard.h"

namespace nervex::webhook {
namespace {

constexpr const char* kRequests = "requests";

// Every member of `a` but the requests is in `b` and the same there.
bool covers(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items()) {
    if (key == kRequests) continue;
    const auto at = b.find(key);
    if (at == b.end() || *at != value) return false;
  }
  return true;
}

const Json* spec_of(const Json& object) {
  const Json* spec = kube::find(object, {"spec"});
  return spec != nullptr && spec->is_object() ? spec : nullptr;
}

}  // namespace

Json restore_requests(const Json& object, const Json& old_object) {
  Json patch = Json::array();
  const Json* spec = spec_of(object);
  if (spec == nullptr) return patch;
  const Json* stored = kube::find(old_object, {"spec", kRequests});
  const Json* sent = kube::find(*spec, {kRequests});
  if (stored == nullptr) {
    if (sent != nullptr) patch.push_back({{"op", "remove"}, {"path", "/spec/requests"}});
  } else if (sent == nullptr || *sent != *stored) {
    patch.push_back({{"op", "add"}, {"path", "/spec/requests"}, {"value", *stored}});
  }
  return patch;
}

bool same_spec_but_requests(const Json& object, const Json& old_object) {
  const Json* spec = spec_of(object);
  const Json* old_spec = spec_of(old_object);
  return spec != nullptr && old_spec != nullptr && covers(*spec, *old_spec) &&
         covers(*old_spec, *spec);
}

}  // namespace nervex::webhook
