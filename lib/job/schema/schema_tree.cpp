#include "job/schema/schema_tree.h"

#include <fmt/format.h>

#include "base/text.h"

namespace nervex::job {
namespace {

// A path contains every key above it, and a report may have a thousand paths.
std::string shown_key(const std::string& key) {
  return key.size() <= kMaxKeyLength ? key : cut_text(key, kMaxKeyLength);
}

const Json* child(const Json* schema, const char* keyword) {
  if (schema == nullptr) return nullptr;
  const auto at = schema->find(keyword);
  return at == schema->end() ? nullptr : &*at;
}

}  // namespace

const Json* SchemaTree::resolve(const Json& schema) const {
  const Json* at = &schema;
  // Valid references form no cycles without a value between them; the limit stops broken ones.
  for (int hops = 0; hops < 16; ++hops) {
    const std::string reference = kube::string_at(*at, {"$ref"});
    if (reference.empty()) return at;
    at = kube::find(root_, {"definitions", reference.substr(kDefinitions.size())});
    if (at == nullptr) return nullptr;
  }
  return nullptr;
}

SchemaPlace SchemaTree::member(const SchemaPlace& place, const std::string& key) const {
  const std::string shown = shown_key(key);
  std::string dotted = place.path.empty() ? shown : fmt::format("{}.{}", place.path, shown);
  if (const Json* properties = child(place.schema, "properties")) {
    if (const auto at = properties->find(key); at != properties->end()) {
      return {resolve(*at), std::move(dotted)};
    }
  }
  if (const Json* values = child(place.schema, "additionalProperties")) {
    return {resolve(*values), fmt::format("{}[{}]", place.path, shown)};
  }
  return {nullptr, std::move(dotted)};
}

SchemaPlace SchemaTree::item(const SchemaPlace& place, std::size_t index) const {
  const Json* items = child(place.schema, "items");
  return {items == nullptr ? nullptr : resolve(*items), fmt::format("{}[{}]", place.path, index)};
}

bool is_closed(const Json& schema) {
  return schema.contains("properties") && !schema.contains("additionalProperties") &&
         !schema.contains("x-kubernetes-preserve-unknown-fields");
}

}  // namespace nervex::job
