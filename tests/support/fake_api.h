// tests/support/fake_api.h - an API server in memory, behind kube::Api.
//
// Behaves like kube-apiserver where the suite depends on it: uids, one resourceVersion counter,
// generations, status subresources, preconditions, merge patches, bindings, label selectors, paged
// lists and watches. It validates no schema and sets no defaults (except status.phase Pending of a
// created pod). It is deterministic: uids are "uid-1", "uid-2", ... in order of creation,
// resourceVersions count from 1 and are shared by all kinds.
//
//   FakeApi api;
//   api.add(kube::kNodes, "", node);                        // the test's own hand: not in writes()
//   api.fail_next("POST", "/pods", {Code::kTransient, "timeout"}, Applied::kYes);   // a lost reply
//   ... run the code under test with `api` ...
//   CHECK(api.writes().size() == 3);
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "tests/support/fake_path.h"

namespace nervex::testing {

// Was the failed request carried out? kYes: only its reply is lost.
enum class Applied { kNo, kYes };

class FakeApi final : public kube::Api {
 public:
  // `clock` provides creationTimestamp and deletionTimestamp; without one it is always 2026-01-01.
  explicit FakeApi(const Clock* clock = nullptr);
  ~FakeApi() override;

  // kube::Api. Supported:
  //   GET one; GET list with labelSelector (a=b, a!=b, a, !a), fieldSelector (dotted.path=text),
  //     limit and continue
  //   POST create (409 AlreadyExists), also with generateName; dryRun=All on all writes
  //   POST pods/NAME/binding (409 if it is bound already, even to the same node; uid guard)
  //   PATCH application/merge-patch+json and PUT, both also of /status; 409 if metadata's
  //     resourceVersion or uid differ; an update without changes keeps the resourceVersion.
  //     PUT of a custom resource requires a resourceVersion (422)
  //   PATCH application/json-patch+json; 422 if an operation does not fit
  //   PATCH application/strategic-merge-patch+json with $deleteFromPrimitiveList/finalizers
  //   PATCH application/apply-patch+yaml with fieldManager (422 without), force, also of /status:
  //     creates, takes over fields, removes those that the manager no longer names, 409 on another
  //     manager's fields. Simplified: the body is JSON; a list is one field, its keys are ignored;
  //     other writers own nothing; managedFields are not returned
  //   POST selfsubjectaccessreviews (review_access())
  //   DELETE with preconditions.uid and .resourceVersion (409). Dependants wait for
  //     collect_garbage(), which first deletes those of an owner deleted with Foreground; with
  //     Orphan they lose their owner reference at once. An object with finalizers only gets its
  //     deletionTimestamp, by collect_garbage() too
  Result<std::string> send(const kube::ApiRequest& request) override;
  // Any path with watch=true. Sends lines from resourceVersion on (absent or 0: first everything as
  // ADDED, and with sendInitialEvents a bookmark at its end) until `stop`, until on_line returns
  // false or until end_watches().
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

  // ---- changes by the test: not affected by fail_next(), not in writes(), seen by watchers

  // Creates, with `status` as given; returns it as stored. The name must be free.
  Json add(const kube::ResourceKind& kind, std::string_view ns, Json object);
  // Merge-patches an object, including its status; null if it does not exist.
  Json change(const kube::ResourceKind& kind, std::string_view ns, std::string_view name,
              const Json& patch);
  // Removes at once, ignoring finalizers and grace. False if it does not exist.
  bool remove(const kube::ResourceKind& kind, std::string_view ns, std::string_view name);
  // Null if it does not exist.
  Json get(const kube::ResourceKind& kind, std::string_view ns, std::string_view name) const;
  // Sorted by namespace and name. Empty ns: all.
  std::vector<Json> list(const kube::ResourceKind& kind, std::string_view ns = "") const;
  // The same without copies, for frequent calls. `look` must not call this API.
  void each(const kube::ResourceKind& kind, const std::function<void(const Json&)>& look) const;
  std::int64_t resource_version() const;  // the latest one given out

  // Deletes objects whose owners are all gone, and objects that block a Foreground deletion of
  // their owner, until nothing changes. Returns their number.
  int collect_garbage();
  // From now on DELETE of a bound, unfinished pod only sets its deletionTimestamp, as with a real
  // kubelet; the test ends it with remove() or end_termination(). gracePeriodSeconds 0 still
  // removes at once, unless finalizers keep the pod.
  void terminate_pods_slowly();
  // What the kubelet does when a terminating pod's containers have ended: sets a final phase, if it
  // has none yet, and deletes the pod without grace. A finalizer still keeps it. False if the pod
  // is not terminating.
  bool end_termination(std::string_view ns, std::string_view pod);

  // ---- other endpoints

  // GET of exactly this path (with query) answers `body`.
  void serve(const std::string& path, std::string body);
  // POST to a collection with this plural ("subjectaccessreviews") is answered, not stored.
  void answer(const std::string& plural, std::function<Result<Json>(const Json& body)> reply);
  // Answers SelfSubjectAccessReviews by their spec.resourceAttributes. Default: all is allowed.
  void review_access(std::function<bool(const Json& attributes)> is_allowed);

  // ---- faults

  using Matcher = std::function<bool(const kube::ApiRequest&)>;
  // The next `times` matching requests fail with `error`. The method of a watch is "WATCH". Faults
  // are tried in the order of these calls.
  void fail_next(Matcher matches, Error error, Applied applied = Applied::kNo, int times = 1);
  // Matches the method ("" = any) and a part of the path with its query.
  void fail_next(std::string method, std::string path_part, Error error,
                 Applied applied = Applied::kNo, int times = 1);
  // Watch positions before now are expired: 410 as an ERROR line or, if `as_status`, as the HTTP
  // status. Continue tokens of lists are expired too.
  void compact(bool as_status = false);
  // sendInitialEvents is answered 422 from now on, as by servers without streaming lists.
  void refuse_streaming_lists();
  // Ends every open watch, as the server does after timeoutSeconds.
  void end_watches();
  // Watchers get no events until resume_watches(): caches become stale.
  void pause_watches();
  void resume_watches();
  // Sends a BOOKMARK to watchers that asked for bookmarks.
  void bookmark();
  // The lines for a watch of `path` (with its selectors) of all versions in (after, up_to]: for
  // simulations that deliver events manually and late.
  std::vector<std::string> told(const std::string& path, std::int64_t after,
                                std::int64_t up_to) const;

  // ---- requests so far

  struct Write {
    std::string method;
    std::string path;  // without the query
    Json body;
    std::optional<Code> error;  // as seen by the caller
    bool applied = false;
  };
  std::vector<Write> writes() const;  // all requests except GET, in order
  // Those with this method whose path contains `path_part`.
  std::vector<Write> writes(std::string_view method, std::string_view path_part) const;
  void clear_writes();
  int requests() const;      // send() and stream() calls so far
  int open_watches() const;  // streams that wait right now

 private:
  struct Event {
    std::int64_t version = 0;
    std::string type;        // ADDED, MODIFIED, DELETED, BOOKMARK
    std::string collection;  // empty: for all
    Json before;             // null if created
    Json after;              // on DELETED the last state
  };
  struct Fault {
    Matcher matches;
    Error error;
    Applied applied = Applied::kNo;
    int times = 1;
  };
  struct Watch {  // one open stream
    FakePath path;
    std::int64_t position = 0;
    int epoch = 0;
    bool over = false;
  };

  // All of these need mutex_ held.
  std::optional<Fault> take_fault(const kube::ApiRequest& request);
  Result<Json> handle(const kube::ApiRequest& request, const FakePath& path, const Json& body);
  Result<Json> handle_get(const FakePath& path) const;
  Result<Json> handle_list(const FakePath& path) const;
  Result<Json> handle_create(const FakePath& path, Json object);
  Result<Json> handle_binding(const FakePath& path, const Json& binding);
  Result<Json> handle_json_patch(const FakePath& path, const Json& operations);
  Result<Json> handle_update(const FakePath& path, const Json& body, bool is_patch);
  Json without_finalizers(const FakePath& path, Json patch) const;
  Result<Json> handle_apply(const FakePath& path, const Json& body);
  Result<Json> handle_delete(const FakePath& path, const Json& options);
  void mark_deleted(Json& object, int grace_seconds) const;
  std::vector<FakePath> find_dependants(const std::string& uid) const;
  void orphan_dependants(const std::string& uid);
  int collect_orphans();
  int end_foreground_deletions();
  Json store_new(const FakePath& path, Json object);
  Json store_changed(const FakePath& path, Json after);
  void erase(const FakePath& path);
  const Json* object_at(const FakePath& path) const;
  void publish(Event event);
  std::string timestamp() const;
  bool has_news(const Watch& watch) const;
  std::vector<std::string> next_lines(Watch& watch) const;
  std::vector<std::string> first_lines(Watch& watch) const;
  std::string line_for(const Watch& watch, const Event& event) const;

  const Clock* const clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // collection ("group/version/plural") -> "namespace/name" -> object
  std::map<std::string, std::map<std::string, Json>> objects_;
  std::vector<Event> history_;
  std::int64_t version_ = 0;
  std::int64_t compacted_ = 0;
  std::int64_t uids_ = 0;
  bool compacted_as_status_ = false;
  bool paused_ = false;
  bool slow_termination_ = false;
  bool streams_lists_ = true;
  int watch_epoch_ = 0;  // end_watches() raises it
  int requests_ = 0;
  int open_watches_ = 0;
  std::deque<Fault> faults_;
  std::map<std::string, std::string> served_;
  std::map<std::string, std::function<Result<Json>(const Json&)>> answers_;
  std::vector<Write> writes_;
  // "collection namespace/name" -> manager -> the fields it applied, as JSON pointers.
  std::map<std::string, std::map<std::string, std::set<std::string>>> applied_;
};

}  // namespace nervex::testing
