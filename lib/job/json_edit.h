// job/json_edit.h - how is JSON of unknown shape, such as a user's template, changed without
// throwing?
#pragma once

#include "kube/model/json.h"

namespace nervex::job {

// The object at parent[name]. A value of another type is replaced by an empty object. `parent` must
// be an object.
inline Json& object_at(Json& parent, const char* name) {
  Json& child = parent[name];
  if (!child.is_object()) child = Json::object();
  return child;
}

// Adds `item` to the array at parent[name]. A value of another type is replaced.
inline void append_to(Json& parent, const char* name, Json item) {
  Json& list = parent[name];
  if (!list.is_array()) list = Json::array();
  list.push_back(std::move(item));
}

}  // namespace nervex::job
