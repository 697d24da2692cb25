// kube/api.h - the Kubernetes API as a door: one request, or one watch.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::kube {

struct ApiRequest {
  std::string method;        // "GET", "POST", "PATCH", "DELETE"
  std::string path;          // with query, not encoded further
  std::string body;          // JSON or empty
  std::string content_type;  // "application/json", "application/merge-patch+json", ...
};

// An interface so that tests can keep the API server in memory. Thread-safe.
class Api {
 public:
  virtual ~Api() = default;
  // The body of a 2xx reply; anything else as the Error it stands for (status_error()).
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
inline constexpr ResourceKind kEvents{"", "v1", "events"};
inline constexpr ResourceKind kNervexJobs{"nervex.sensetime.com", "v1alpha1", "nervexjobs"};
inline constexpr ResourceKind kAggregatorConfigs{"nervex.sensetime.com", "v1alpha1",
                                                 "aggregatorconfigs"};
inline constexpr ResourceKind kPodGroups{"nervex.sensetime.com", "v1alpha1", "podgroups"};

// For a part of a path or a query value: everything but RFC 3986's unreserved characters as %XX.
std::string percent_encode(std::string_view text);

// "/api/v1/namespaces/a/pods/p/status". Empty ns: all namespaces or a cluster-scoped kind; empty
// name: the collection. Parts are percent-encoded.
std::string api_path(const ResourceKind& kind, std::string_view ns = "", std::string_view name = "",
                     std::string_view sub_resource = "");

// Typed verbs over Api::send. Each returns the object as the server stored it.
Result<Json> get_object(Api& api, const ResourceKind& kind, std::string_view ns,
                        std::string_view name);
Result<Json> create_object(Api& api, const ResourceKind& kind, std::string_view ns,
                           const Json& object);
// RFC 7386 merge patch. Put metadata.resourceVersion into it to make it conditional (else kConflict
// never comes), metadata.uid to guard against a namesake.
Result<Json> merge_patch(Api& api, const ResourceKind& kind, std::string_view ns,
                         std::string_view name, const Json& patch,
                         std::string_view sub_resource = "");
// With preconditions.uid: kConflict if the name now belongs to another object. Gone already: ok.
// Dependants are removed by the garbage collector afterwards. kInternal without a uid: nothing is
// deleted by its name alone.
Result<Nothing> delete_object(Api& api, const ResourceKind& kind, std::string_view ns,
                              std::string_view name, std::string_view uid);

}  // namespace nervex::kube
