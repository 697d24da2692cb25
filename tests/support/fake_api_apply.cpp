// FakeApi's server-side apply: which manager owns which field?
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tests/support/fake_api.h"
#include "tests/support/fake_rules.h"

namespace nervex::testing {
namespace {

using kube::find;
using kube::string_at;
using Fields = std::set<std::string>;  // JSON pointers
using Pointer = Json::json_pointer;

// Fields that identify the object; no manager owns them.
const Fields kIdentity{"/apiVersion",         "/kind",         "/metadata/name",
                       "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion",
                       "/metadata/generation"};

// A list is one field, and so is an object without any.
void collect_fields(const Json& value, const Pointer& at, Fields& into) {
  if (!value.is_object() || value.empty()) {
    if (!kIdentity.contains(at.to_string())) into.insert(at.to_string());
    return;
  }
  for (const auto& [key, inner] : value.items()) collect_fields(inner, at / key, into);
}

bool is_status(const std::string& field) { return field.starts_with("/status"); }

// Of what the body names, what this door of the object lets in.
Fields collect_applied_fields(const Json& body, const FakePath& path) {
  Fields fields;
  collect_fields(body, Pointer(), fields);
  const bool through_status = path.sub_resource == "status";
  std::erase_if(fields, [&](const std::string& field) {
    if (through_status) return !is_status(field);
    return has_status_subresource(path.plural) && is_status(field);
  });
  return fields;
}

// With its parents, as far as they are empty then.
void remove_field(Json& object, Pointer at) {
  for (; !at.empty(); at.pop_back()) {
    const Pointer parent = at.parent_pointer();
    if (!object.contains(parent) || !object[parent].is_object()) return;
    object[parent].erase(at.back());
    if (!object[parent].empty()) return;
  }
}

}  // namespace

Result<Json> FakeApi::handle_apply(const FakePath& path, const Json& body) {
  std::string manager = path.query_value("fieldManager");
  if (manager.empty()) {
    return refuse(422, "Invalid", "fieldManager: Required value: is required for apply patch");
  }
  if (!body.is_object() || string_at(body, {"metadata", "name"}) != path.name) {
    return refuse(400, "BadRequest", "the name of the object does not match the name on the URL");
  }
  if (find(body, {"metadata", "managedFields"}) != nullptr) {
    return refuse(400, "BadRequest", "metadata.managedFields must be nil");
  }
  manager += "/" + path.sub_resource;  // each door has managers of its own
  const Fields fields = collect_applied_fields(body, path);
  const std::string id = path.collection + " " + path.key();

  const Json* stored = object_at(path);
  if (stored == nullptr) {
    if (!path.sub_resource.empty()) return not_found(path);
    if (!object_uid(body).empty() || !object_version(body).empty()) {
      return conflict(path, "the object to apply to does not exist any more");
    }
    auto created = handle_create(path, body);
    if (created && !is_dry_run(path)) applied_[id] = {{manager, fields}};
    return created;
  }

  if (auto error = check_identity(path, *find(body, {"metadata"}), *stored)) return *error;
  auto owners = applied_[id];
  Json after = *stored;
  for (const auto& field : fields) {
    const Pointer at(field);
    const bool differs = !after.contains(at) || after[at] != body[at];
    for (auto& [other, owned] : owners) {
      if (other == manager || !differs || !owned.contains(field)) continue;
      if (path.query_value("force") != "true") {
        return conflict(path, fmt::format("conflict with \"{}\": {}", other, field));
      }
      owned.erase(field);
    }
    after[at] = body[at];
  }
  for (const auto& field : owners[manager]) {
    const bool is_kept = std::any_of(owners.begin(), owners.end(), [&](const auto& owner) {
      return (owner.first == manager ? fields : owner.second).contains(field);
    });
    if (!is_kept) remove_field(after, Pointer(field));
  }
  owners[manager] = fields;
  keep_identity(after, *stored);
  if (is_dry_run(path)) return after;
  applied_[id] = std::move(owners);
  return after == *stored ? after : store_changed(path, std::move(after));
}

}  // namespace nervex::testing
