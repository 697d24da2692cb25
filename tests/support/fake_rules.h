// tests/support/fake_rules.h - what does an API server refuse, and which fields does it preserve?
// For the files of FakeApi.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "kube/model/watch.h"
#include "tests/support/fake_path.h"

namespace nervex::testing {

inline Error refuse(int code, const std::string& reason, const std::string& message) {
  const Json status = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                       {"reason", reason}, {"code", code},       {"message", message}};
  return kube::status_error("fake API", code, kube::to_text(status));
}

inline Error not_found(const FakePath& path) {
  return refuse(404, "NotFound", fmt::format("{} \"{}\" not found", path.plural, path.name));
}

inline Error conflict(const FakePath& path, const std::string& why) {
  return refuse(
      409, "Conflict",
      fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", path.plural, path.name, why));
}

inline Error too_old() { return refuse(410, "Expired", "too old resource version"); }

inline std::string object_version(const Json& object) {
  return kube::string_at(object, {"metadata", "resourceVersion"});
}
inline std::string object_uid(const Json& object) {
  return kube::string_at(object, {"metadata", "uid"});
}

// metadata.resourceVersion and uid of an update, and DELETE's preconditions, must match the object.
inline std::optional<Error> check_identity(const FakePath& path, const Json& wanted,
                                           const Json& stored) {
  const std::string uid = kube::string_at(wanted, {"uid"});
  if (!uid.empty() && uid != object_uid(stored)) {
    return conflict(
        path, fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                          uid, object_uid(stored)));
  }
  const std::string version = kube::string_at(wanted, {"resourceVersion"});
  if (!version.empty() && version != object_version(stored)) {
    return conflict(path,
                    "the object has been modified; please apply your changes to the latest "
                    "version and try again");
  }
  return std::nullopt;
}

// Updates of custom resources and Leases require a version. Core kinds do not.
inline bool needs_version(const FakePath& path) { return !path.collection.starts_with('/'); }

inline bool has_status_subresource(const std::string& plural) {
  return plural == "nervexjobs" || plural == "podgroups" || plural == "pods" || plural == "nodes" ||
         plural == "services" || plural == "aggregatorconfigs";
}

inline void take_over(Json& object, const Json& from, const char* key) {
  object.erase(key);
  if (from.contains(key)) object[key] = from[key];
}

// Restores the fields that an update cannot change.
inline void keep_identity(Json& object, const Json& stored) {
  Json& meta = object["metadata"];
  const Json& old = stored.at("metadata");
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "generation",
                          "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    take_over(meta, old, key);
  }
}

inline bool is_dry_run(const FakePath& path) { return !path.query_value("dryRun").empty(); }

}  // namespace nervex::testing
