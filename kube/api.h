// kube/api.h - the Kubernetes API as a door: one request, or one watch.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::kube {

struct ApiRequest {
  std::string method;        // "GET", "POST", "PUT", "PATCH", "DELETE"
  std::string path;          // with query, not encoded further
  std::string body;          // JSON or empty
  std::string content_type;  // "application/json", "application/merge-patch+json", ...
  // Asked each time just before it is sent, when all waiting for a connection is over. Its error is
  // the answer then, and nothing is sent.
  std::function<Result<Nothing>()> before_sending{};
  // Told of a reply that is no 2xx, when it becomes the answer: its status and its body, which may
  // be a metav1.Status with details that an Error does not hold.
  std::function<void(int status, std::string_view body)> on_refusal{};
};

// An interface so that tests can keep the API server in memory. It is plain (requests, not typed
// verbs) so that fast tests cover paths, bodies and preconditions too, and a lost reply (the write
// happened, the answer did not arrive) is one line in a test. Thread-safe.
class Api {
 public:
  virtual ~Api() = default;
  // The body of a 2xx reply; anything else as the Error it stands for (status_error()), with
  // retry_after if the server asked to wait.
  virtual Result<std::string> send(const ApiRequest& request) = 0;
  // Calls `on_line` for each line of the reply until the server ends it (ok), on_line returns
  // false (ok), `stop` is requested (ok) or it breaks (Error).
  virtual Result<Nothing> stream(const std::string& path,
                                 const std::function<bool(std::string_view line)>& on_line,
                                 std::stop_token stop) = 0;
};

// A kind as it appears in URLs.
struct ResourceKind {
  std::string_view group;  // "" for core
  std::string_view version;
  std::string_view plural;
};
inline constexpr ResourceKind kPods{"", "v1", "pods"};
inline constexpr ResourceKind kServices{"", "v1", "services"};
inline constexpr ResourceKind kNodes{"", "v1", "nodes"};
inline constexpr ResourceKind kPersistentVolumes{"", "v1", "persistentvolumes"};
inline constexpr ResourceKind kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims"};
inline constexpr ResourceKind kResourceQuotas{"", "v1", "resourcequotas"};
inline constexpr ResourceKind kEvents{"", "v1", "events"};
inline constexpr ResourceKind kNervexJobs{"nervex.sensetime.com", "v1alpha1", "nervexjobs"};
inline constexpr ResourceKind kAggregatorConfigs{"nervex.sensetime.com", "v1alpha1",
                                                 "aggregatorconfigs"};
inline constexpr ResourceKind kPodGroups{"nervex.sensetime.com", "v1alpha1", "podgroups"};

// Of scheduler-plugins, for gangs of other operators (kube/model/foreign_pod_group.h).
inline constexpr ResourceKind kForeignPodGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups"};

// For a part of a path or a query value: everything but RFC 3986's unreserved characters as %XX.
std::string percent_encode(std::string_view text);

// "/api/v1/namespaces/a/pods/p/status". Empty ns: all namespaces or a cluster-scoped kind; empty
// name: the collection. Parts are percent-encoded.
std::string api_path(const ResourceKind& kind, std::string_view ns = "", std::string_view name = "",
                     std::string_view sub_resource = "");

// The collection at `path`, but only objects with that label. Both are percent-encoded.
std::string with_label(const std::string& path, std::string_view label, std::string_view value);

// kYes: the server checks, defaults and answers as ever, and stores nothing.
enum class DryRun { kNo, kYes };

// Typed verbs over Api::send. Each returns the object as the server stored it. Errors are those of
// send(); an answer that cannot be read is kTransient, for the write may have taken effect.
Result<Json> get_object(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name);
Result<Json> create_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object, DryRun dry_run = DryRun::kNo);
// RFC 7386 merge patch. Put metadata.resourceVersion into it to make it conditional (else kConflict
// never comes), metadata.uid to guard against a namesake.
Result<Json> merge_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                         std::string_view name, const Json& patch,
                         std::string_view sub_resource = "", DryRun dry_run = DryRun::kNo);
// RFC 6902 JSON patch: an array of operations that take effect all together or not at all.
// kInvalid: one of them does not fit, such as a `test` of what is otherwise by now, or what would
// come out is refused. The object as it is now tells which.
Result<Json> json_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name, const Json& operations);
// Replaces the object, found by its metadata.name. kConflict: somebody else wrote since its
// metadata.resourceVersion. kInternal without one: what others wrote would be lost.
Result<Json> update_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object, std::string_view sub_resource = "",
                           DryRun dry_run = DryRun::kNo);

// Takes one finalizer off the object of that uid and leaves the others. Of a built-in kind only (a
// strategic merge patch). kConflict: the name now belongs to another object.
Result<Json> remove_finalizer(Api& api, const ResourceKind& kind, std::string_view ns,
                              std::string_view name, std::string_view uid,
                              std::string_view finalizer);

// Server-side apply: the object's fields, and no others, are to be what `object` says; it is
// created if need be. Fields that this manager applied before and no longer names are removed.
// kConflict: a field belongs to another manager and has another value; kYes takes it over. `object`
// needs apiVersion, kind and metadata.name, and must not hold managedFields (kInternal).
enum class Force { kNo, kYes };
Result<Json> apply_object(Api& api, const ResourceKind& kind, std::string_view ns,
                          const Json& object, std::string_view field_manager,
                          Force force = Force::kNo, std::string_view sub_resource = "",
                          DryRun dry_run = DryRun::kNo);

// What becomes of an object's dependants: deleted afterwards, deleted before it, or kept.
enum class Propagation { kBackground, kForeground, kOrphan };
struct DeleteOptions {
  std::string_view resource_version{};  // if not empty: only if nobody wrote since
  Propagation propagation = Propagation::kBackground;
  DryRun dry_run = DryRun::kNo;
  std::optional<int> grace_period_seconds{};  // not set: the object's own
};
struct Deletion {
  bool was_gone = false;  // there was nothing to delete
  // The object while it takes leave (it has a deletionTimestamp then), or its last state, or a
  // Status that says so: as the API server pleases. Null if it was gone.
  Json answer{};
};
// With preconditions.uid: kConflict if the name now belongs to another object, or if that is not
// the version given. kInternal without a uid: nothing is deleted by its name alone.
Result<Deletion> delete_object(Api& api, const ResourceKind& kind, std::string_view ns,
                               std::string_view name, std::string_view uid,
                               const DeleteOptions& options = {});

}  // namespace nervex::kube
