#include "webhook/prune.h"

#include "webhook/schema_tree.h"

namespace nervex::webhook {
namespace {

Json copy_within(const Json& value, std::size_t& left) {
  if (left > 0) --left;
  if (value.is_object()) {
    Json made = Json::object();
    for (auto at = value.begin(); at != value.end() && left > 0; ++at) {
      if (at.key().size() > kMaxKeyLength) continue;
      made.emplace(at.key(), copy_within(*at, left));
    }
    return made;
  }
  if (value.is_array()) {
    Json made = Json::array();
    for (auto at = value.begin(); at != value.end() && left > 0; ++at) {
      made.push_back(copy_within(*at, left));
    }
    return made;
  }
  return value;
}

}  // namespace

Json without_nulls(const Json& value) {
  if (value.is_object()) {
    Json made = Json::object();
    for (const auto& [key, child] : value.items()) {
      if (!child.is_null()) made.emplace(key, without_nulls(child));
    }
    return made;
  }
  if (value.is_array()) {
    Json made = Json::array();
    for (const auto& child : value) made.push_back(without_nulls(child));
    return made;
  }
  return value;
}

Json first_values(const Json& value, std::size_t count) { return copy_within(value, count); }

}  // namespace nervex::webhook
