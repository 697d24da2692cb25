// kube/api.h - how is the Kubernetes API called? One request, or one watch.
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
  // Called each time just before the request is sent, after all waiting for a connection. On an
  // error nothing is sent, and the error is the answer.
  std::function<Result<Nothing>()> before_sending{};
  // Called with the status and body of a final non-2xx reply. The body may be a metav1.Status with
  // details that an Error does not hold.
  std::function<void(int status, std::string_view body)> on_refusal{};
};

// An interface, so that tests can keep the API server in memory. It takes requests instead of typed
// verbs: so fast tests also cover paths, bodies and preconditions, and can simulate a lost reply
// (the write happened, the answer did not arrive) in one line. Thread-safe.
class Api {
 public:
  virtual ~Api() = default;
  // Returns the body of a 2xx reply. Any other reply becomes an Error (status_error()), with
  // retry_after if the server sent it.
  virtual Result<std::string> send(const ApiRequest& request) = 0;
  // Calls `on_line` for each line of the reply. Ends with ok when the server ends the reply,
  // on_line returns false or `stop` is requested; with an Error when the stream breaks.
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
inline constexpr ResourceKind kNamespaces{"", "v1", "namespaces"};
inline constexpr ResourceKind kPersistentVolumes{"", "v1", "persistentvolumes"};
inline constexpr ResourceKind kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims"};
inline constexpr ResourceKind kResourceQuotas{"", "v1", "resourcequotas"};
inline constexpr ResourceKind kEvents{"", "v1", "events"};
inline constexpr ResourceKind kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};
inline constexpr ResourceKind kDeviceClasses{"resource.k8s.io", "v1", "deviceclasses"};
inline constexpr ResourceKind kNervexJobs{"nervex.sensetime.com", "v1alpha1", "nervexjobs"};
inline constexpr ResourceKind kAggregatorConfigs{"nervex.sensetime.com", "v1alpha1",
                                                 "aggregatorconfigs"};
inline constexpr ResourceKind kPodGroups{"nervex.sensetime.com", "v1alpha1", "podgroups"};
inline constexpr ResourceKind kQueues{"nervex.sensetime.com", "v1alpha1", "queues"};
inline constexpr ResourceKind kSimulations{"nervex.sensetime.com", "v1alpha1", "simulations"};

// From scheduler-plugins, for gangs of other operators (kube/model/foreign_pod_group.h).
inline constexpr ResourceKind kForeignPodGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups"};

// For a path segment or a query value: encodes all but RFC 3986's unreserved characters as %XX.
std::string percent_encode(std::string_view text);

// "/api/v1/namespaces/a/pods/p/status". Empty ns: all namespaces or a cluster-scoped kind; empty
// name: the collection. Parts are percent-encoded.
std::string api_path(const ResourceKind& kind, std::string_view ns = "", std::string_view name = "",
                     std::string_view sub_resource = "");

// The collection at `path`, restricted to objects with that label. Percent-encodes both arguments.
std::string with_label(const std::string& path, std::string_view label, std::string_view value);

// kYes: the server validates, sets defaults and answers as usual, but stores nothing.
enum class DryRun { kNo, kYes };

// Typed verbs over Api::send. Each returns the object as the server stored it. Errors are those of
// send(); an unreadable answer is kTransient, because the write may have taken effect.
Result<Json> get_object(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name);
Result<Json> create_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object, DryRun dry_run = DryRun::kNo);
// RFC 7386 merge patch. Include metadata.resourceVersion to make it conditional (otherwise never
// kConflict), and metadata.uid to guard against another object of the same name.
Result<Json> merge_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                         std::string_view name, const Json& patch,
                         std::string_view sub_resource = "", DryRun dry_run = DryRun::kNo);
// RFC 6902 JSON patch: an array of operations that take effect together or not at all. kInvalid: an
// operation fails, such as a `test` of a value that has changed, or the result is refused. A read
// of the object tells which.
Result<Json> json_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name, const Json& operations);
// Replaces the object, found by its metadata.name. kConflict: it was written since its
// metadata.resourceVersion. kInternal without one, since others' writes would be lost.
Result<Json> update_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object, std::string_view sub_resource = "",
                           DryRun dry_run = DryRun::kNo);

// Removes one finalizer from the object of that uid and keeps the others. Only for built-in kinds
// (a strategic merge patch). kConflict: the name now belongs to another object.
Result<Json> remove_finalizer(Api& api, const ResourceKind& kind, std::string_view ns,
                              std::string_view name, std::string_view uid,
                              std::string_view finalizer);

// Server-side apply: sets the fields in `object` and no others; creates the object if needed.
// Removes fields that this manager applied before and no longer names. kConflict: a field belongs
// to another manager and has another value; kYes takes it over. `object` needs apiVersion, kind and
// metadata.name, and must not hold managedFields (kInternal).
enum class Force { kNo, kYes };
Result<Json> apply_object(Api& api, const ResourceKind& kind, std::string_view ns,
                          const Json& object, std::string_view field_manager,
                          Force force = Force::kNo, std::string_view sub_resource = "",
                          DryRun dry_run = DryRun::kNo);

// When an object's dependants are deleted: after it, before it, or never.
enum class Propagation { kBackground, kForeground, kOrphan };
struct DeleteOptions {
  std::string_view resource_version{};  // if not empty: only if unchanged since
  Propagation propagation = Propagation::kBackground;
  DryRun dry_run = DryRun::kNo;
  std::optional<int> grace_period_seconds{};  // not set: the object's own
};
struct Deletion {
  bool was_gone = false;  // the object did not exist
  // The object while it is being deleted (with a deletionTimestamp), its last state, or a Status,
  // as the API server chooses. Null if was_gone.
  Json answer{};
};
// With preconditions.uid: kConflict if the name now belongs to another object or its version
// differs. kInternal without a uid: objects are never deleted by name alone.
Result<Deletion> delete_object(Api& api, const ResourceKind& kind, std::string_view ns,
                               std::string_view name, std::string_view uid,
                               const DeleteOptions& options = {});

}  // namespace nervex::kube
