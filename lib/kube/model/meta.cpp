#include "kube/model/meta.h"

#include <algorithm>

#include "base/text.h"

namespace nervex::kube {
namespace {

const std::string& value_or_empty(const StringMap& strings, std::string_view key) {
  static const std::string kEmpty;
  const auto at = strings.find(key);
  return at == strings.end() ? kEmpty : at->second.str();
}

StringMap strings_at(const Json& value, std::initializer_list<std::string_view> path) {
  StringMap strings;
  const Json* at = find(value, path);
  if (at == nullptr || !at->is_object()) return strings;
  for (const auto& [key, item] : at->items()) {
    if (item.is_string()) strings.emplace(key, item.get<std::string>());
  }
  return strings;
}

Shared<OwnerRef> find_controller(const Json& meta) {
  for (const auto& owner : array_at(meta, {"ownerReferences"})) {
    if (!bool_at(owner, {"controller"})) continue;
    return OwnerRef{string_at(owner, {"apiVersion"}), string_at(owner, {"kind"}),
                    string_at(owner, {"name"}), string_at(owner, {"uid"})};
  }
  return {};
}

}  // namespace

NamespacedName NamespacedName::parse(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {"", std::string(key)};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

const std::string& label(const Meta& meta, std::string_view key) {
  return value_or_empty(meta.labels, key);
}

const std::string& annotation(const Meta& meta, std::string_view key) {
  return value_or_empty(meta.annotations, key);
}

bool is_newer_version(std::string_view version, std::string_view than) {
  if (!is_digits(version) || !is_digits(than)) return false;
  // No leading zeros, so the longer one is larger.
  if (version.size() != than.size()) return version.size() > than.size();
  return version.compare(than) > 0;
}

Meta decode_meta(const Json& object) {
  Meta meta;
  const Json* at = find(object, {"metadata"});
  if (at == nullptr) return meta;
  meta.ns = string_at(*at, {"namespace"});
  meta.name = string_at(*at, {"name"});
  meta.uid = string_at(*at, {"uid"});
  meta.resource_version = string_at(*at, {"resourceVersion"});
  meta.generation = int_at(*at, {"generation"});
  meta.deleting = find(*at, {"deletionTimestamp"}) != nullptr;
  const Json& finalizers = array_at(*at, {"finalizers"});
  meta.orphans_its_own =
      std::find(finalizers.begin(), finalizers.end(), "orphan") != finalizers.end();
  if (const auto created = parse_rfc3339(string_at(*at, {"creationTimestamp"}))) {
    meta.created = *created;
  }
  meta.owner = find_controller(*at);
  meta.labels = strings_at(*at, {"labels"});
  meta.annotations = strings_at(*at, {"annotations"});
  return meta;
}

Json encode_controller_ref(const OwnerRef& owner) {
  return {{"apiVersion", owner.api_version},
          {"kind", owner.kind},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

}  // namespace nervex::kube
