// FakeApi's verbs: what a request changes and answers.
#include "tests/support/fake_api.h"

#include <fmt/format.h>

#include "tests/support/fake_rules.h"
#include "tests/support/journal.h"

namespace nervex::testing {
namespace {

using kube::find;
using kube::int_at;
using kube::parse_json;
using kube::string_at;
using kube::to_text;

}  // namespace

FakeApi::FakeApi(const Clock* clock) : clock_(clock) {
  review_access([](const Json&) { return true; });
}
FakeApi::~FakeApi() = default;

// ---- requests

Result<std::string> FakeApi::send(const kube::ApiRequest& request) {
  if (request.before_sending) {
    if (auto may = request.before_sending(); !may) return may.error();
  }
  std::unique_lock lock(mutex_);
  ++requests_;
  const bool is_write = request.method != "GET";
  if (is_write) journal(request.method + " " + request.path + " " + request.body);
  const auto body = request.body.empty() ? Result<Json>(Json()) : parse_json(request.body);
  if (!body) return refuse(400, "BadRequest", body.error().message);
  const auto fault = take_fault(request);
  Result<Json> reply = Json();
  if (!fault || fault->applied == Applied::kYes) {
    reply = handle(request, parse_path(request.path), *body);
  }
  const bool applied = is_write && reply.has_value() && (!fault || fault->applied == Applied::kYes);
  if (fault) reply = fault->error;
  if (is_write) {
    const auto error = reply ? std::nullopt : std::optional<Code>(reply.error().code);
    writes_.push_back(
        {request.method, request.path.substr(0, request.path.find('?')), *body, error, applied});
  }
  if (!reply) return reply.error();
  return reply->is_string() ? reply->get<std::string>() : to_text(*reply);
}

Result<Json> FakeApi::handle(const kube::ApiRequest& request, const FakePath& path,
                             const Json& body) {
  if (request.method == "GET") {
    const auto served = served_.find(request.path);
    if (served != served_.end()) return Json(served->second);
    return path.name.empty() ? handle_list(path) : handle_get(path);
  }
  if (request.method == "POST") {
    const auto answer = answers_.find(path.plural);
    if (answer != answers_.end()) return answer->second(body);
    return path.sub_resource == "binding" ? handle_binding(path, body) : handle_create(path, body);
  }
  if (request.method == "PATCH") {
    if (request.content_type == "application/apply-patch+yaml") return handle_apply(path, body);
    if (request.content_type == "application/strategic-merge-patch+json") {
      return handle_update(path, without_finalizers(path, body), true);
    }
    if (request.content_type == "application/json-patch+json") {
      return handle_json_patch(path, body);
    }
    if (request.content_type != "application/merge-patch+json") {
      return refuse(415, "UnsupportedMediaType",
                    "the fake knows merge patches, JSON patches and apply only");
    }
    return handle_update(path, body, true);
  }
  if (request.method == "PUT") return handle_update(path, body, false);
  if (request.method == "DELETE") return handle_delete(path, body);
  return refuse(405, "MethodNotAllowed", request.method);
}

Result<Json> FakeApi::handle_get(const FakePath& path) const {
  const Json* object = object_at(path);
  if (object == nullptr) return not_found(path);
  return *object;
}

Result<Json> FakeApi::handle_list(const FakePath& path) const {
  Json items = Json::array();
  std::string version = std::to_string(version_);
  std::string after_key;
  const std::string token = path.query_value("continue");  // "version|last key"
  if (!token.empty()) {
    version = token.substr(0, token.find('|'));
    after_key = token.substr(token.find('|') + 1);
    if (std::stoll(version) < compacted_) return too_old();
  }
  const std::string limit_text = path.query_value("limit");
  const std::size_t limit = limit_text.empty() ? 0 : std::stoull(limit_text);
  std::string next;
  const auto collection = objects_.find(path.collection);
  if (collection != objects_.end()) {
    std::string last_key;
    for (const auto& [key, object] : collection->second) {
      if (!after_key.empty() && key <= after_key) continue;
      if (!is_selected(path, object)) continue;
      if (limit > 0 && items.size() == limit) {
        next = fmt::format("{}|{}", version, last_key);
        break;
      }
      items.push_back(object);
      last_key = key;
    }
  }
  Json meta = {{"resourceVersion", version}};
  if (!next.empty()) meta["continue"] = next;
  return Json{{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", meta}, {"items", items}};
}

Result<Json> FakeApi::handle_create(const FakePath& given, Json object) {
  if (!object.is_object()) return refuse(400, "BadRequest", "the body is no object");
  FakePath path = given;
  path.name = string_at(object, {"metadata", "name"});
  const std::string prefix = string_at(object, {"metadata", "generateName"});
  if (path.name.empty() && !prefix.empty()) path.name = fmt::format("{}{:05}", prefix, uids_ + 1);
  if (path.name.empty()) return refuse(422, "Invalid", "metadata.name: Required value");
  const std::string ns = string_at(object, {"metadata", "namespace"}, path.ns);
  if (ns != path.ns) {
    return refuse(400, "BadRequest",
                  "the namespace of the provided object does not match the namespace sent on the "
                  "request");
  }
  if (object_at(path) != nullptr) {
    return refuse(409, "AlreadyExists",
                  fmt::format("{} \"{}\" already exists", path.plural, path.name));
  }
  if (has_status_subresource(path.plural)) object.erase("status");
  if (path.plural == "pods") object["status"] = {{"phase", "Pending"}};
  if (!path.query_value("dryRun").empty()) return object;
  return store_new(path, std::move(object));
}

Result<Json> FakeApi::handle_binding(const FakePath& path, const Json& binding) {
  const Json* stored = object_at(path);
  if (stored == nullptr) return not_found(path);
  const Json* meta = find(binding, {"metadata"});
  if (auto error = check_identity(path, meta == nullptr ? Json() : *meta, *stored)) return *error;
  const std::string node = string_at(*stored, {"spec", "nodeName"});
  if (!node.empty()) {
    return conflict(path,
                    fmt::format("pod {} is already assigned to node \"{}\"", path.name, node));
  }
  if (find(*stored, {"metadata", "deletionTimestamp"}) != nullptr) {
    return conflict(
        path, fmt::format("pod {} is being deleted, cannot be assigned to a host", path.name));
  }
  const std::string target = string_at(binding, {"target", "name"});
  if (target.empty()) return refuse(422, "Invalid", "target.name: Required value");
  Json pod = *stored;
  pod["spec"]["nodeName"] = target;
  if (const Json* more = find(binding, {"metadata", "annotations"})) {
    pod["metadata"]["annotations"].update(*more);
  }
  pod["status"]["conditions"] = {{{"type", "PodScheduled"}, {"status", "True"}}};
  if (path.query_value("dryRun").empty()) store_changed(path, std::move(pod));
  return Json{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}, {"code", 201}};
}

// The merge patch equivalent to a strategic one with $deleteFromPrimitiveList/finalizers; the fake
// supports no other strategic patches.
Json FakeApi::without_finalizers(const FakePath& path, Json patch) const {
  constexpr const char* kDirective = "$deleteFromPrimitiveList/finalizers";
  const Json removed = patch["metadata"].value(kDirective, Json::array());
  patch["metadata"].erase(kDirective);
  const Json* stored = object_at(path);
  if (stored == nullptr) return patch;
  Json kept = Json::array();
  for (const auto& finalizer : kube::array_at(*stored, {"metadata", "finalizers"})) {
    if (std::find(removed.begin(), removed.end(), finalizer) == removed.end()) {
      kept.push_back(finalizer);
    }
  }
  patch["metadata"]["finalizers"] = std::move(kept);
  return patch;
}

Result<Json> FakeApi::handle_json_patch(const FakePath& path, const Json& operations) {
  const Json* stored = object_at(path);
  if (stored == nullptr) return not_found(path);
  try {
    return handle_update(path, stored->patch(operations), false);
  } catch (const Json::exception&) {
    return refuse(422, "Invalid", "the server rejected our request due to an error in our request");
  }
}

Result<Json> FakeApi::handle_update(const FakePath& path, const Json& body, bool is_patch) {
  const Json* stored = object_at(path);
  if (stored == nullptr) return not_found(path);
  if (!body.is_object()) return refuse(400, "BadRequest", "the body is no object");
  const Json* meta = find(body, {"metadata"});
  if (auto error = check_identity(path, meta == nullptr ? Json() : *meta, *stored)) return *error;
  if (!is_patch && string_at(body, {"metadata", "name"}) != path.name) {
    return refuse(400, "BadRequest", "the name of the object does not match the name on the URL");
  }
  if (!is_patch && needs_version(path) && object_version(body).empty()) {
    return refuse(422, "Invalid",
                  "metadata.resourceVersion: Invalid value: 0: must be specified for an update");
  }
  Json wanted = body;
  if (is_patch) {
    wanted = *stored;
    wanted.merge_patch(body);
  }
  Json after = wanted;
  if (path.sub_resource == "status") {
    after = *stored;
    take_over(after, wanted, "status");
  } else if (has_status_subresource(path.plural)) {
    take_over(after, *stored, "status");
  }
  keep_identity(after, *stored);
  if (after == *stored || !path.query_value("dryRun").empty()) return after;
  return store_changed(path, std::move(after));
}

// ---- the stored objects

const Json* FakeApi::object_at(const FakePath& path) const {
  const auto collection = objects_.find(path.collection);
  if (collection == objects_.end()) return nullptr;
  const auto object = collection->second.find(path.key());
  return object == collection->second.end() ? nullptr : &object->second;
}

Json FakeApi::store_new(const FakePath& path, Json object) {
  Json& meta = object["metadata"];
  meta["name"] = path.name;
  if (!path.ns.empty()) meta["namespace"] = path.ns;
  meta["uid"] = fmt::format("uid-{}", ++uids_);
  meta["resourceVersion"] = std::to_string(++version_);
  meta["generation"] = 1;
  meta["creationTimestamp"] = timestamp();
  objects_[path.collection][path.key()] = object;
  publish({version_, "ADDED", path.collection, Json(), object});
  return object;
}

Json FakeApi::store_changed(const FakePath& path, Json after) {
  Json& stored = objects_[path.collection][path.key()];
  Json before = stored;
  if (before.value("spec", Json()) != after.value("spec", Json())) {
    after["metadata"]["generation"] = int_at(before, {"metadata", "generation"}) + 1;
  }
  after["metadata"]["resourceVersion"] = std::to_string(++version_);
  stored = after;
  const bool was_released = find(after, {"metadata", "deletionTimestamp"}) != nullptr &&
                            !kube::array_at(before, {"metadata", "finalizers"}).empty() &&
                            kube::array_at(after, {"metadata", "finalizers"}).empty() &&
                            int_at(after, {"metadata", "deletionGracePeriodSeconds"}) == 0;
  publish({version_, "MODIFIED", path.collection, std::move(before), after});
  if (was_released) erase(path);
  return after;
}

void FakeApi::erase(const FakePath& path) {
  auto& collection = objects_[path.collection];
  Json last = collection.at(path.key());
  collection.erase(path.key());
  applied_.erase(path.collection + " " + path.key());
  Json before = last;
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  publish({version_, "DELETED", path.collection, std::move(before), std::move(last)});
}

void FakeApi::publish(Event event) {
  history_.push_back(std::move(event));
  changed_.notify_all();
}

std::string FakeApi::timestamp() const {
  return clock_ == nullptr ? "2026-01-01T00:00:00Z" : to_rfc3339(clock_->now());
}

}  // namespace nervex::testing
