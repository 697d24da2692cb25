// tests/support/fake_api.h - an API server in memory, behind kube::Api.
//
// Keeps state as kube-apiserver does for the parts that the suite leans on: uids, one
// resourceVersion counter, generations, status subresources, preconditions, merge patches,
// bindings, label selectors, paged lists and watches. It validates no schema and defaults nothing
// (but status.phase Pending of a created pod). Everything is deterministic: uids are "uid-1",
// "uid-2", ... in order of creation, resourceVersions count from 1 and are shared by all kinds.
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

// Did the request that is made to fail take effect all the same? kYes: only its reply is lost.
enum class Applied { kNo, kYes };

class FakeApi final : public kube::Api {
 public:
  // `clock` gives creationTimestamp and deletionTimestamp; without one it is always 2026-01-01.
  explicit FakeApi(const Clock* clock = nullptr);
  ~FakeApi() override;

  // kube::Api. What works:
  //   GET one; GET list with labelSelector (a=b, a!=b, a, !a), fieldSelector (dotted.path=text),
  //     limit and continue
  //   POST create (409 AlreadyExists), also with generateName; dryRun=All on all writes
  //   POST pods/NAME/binding (409 if it is bound already, be it to the same node; uid guard)
  //   PATCH application/merge-patch+json and PUT, both also of /status; 409 if metadata's
  //     resourceVersion or uid differ; an update that changes nothing keeps the resourceVersion.
  //     PUT of a custom resource needs a resourceVersion (422)
  //   PATCH application/json-patch+json; 422 if an operation does not fit
  //   PATCH application/strategic-merge-patch+json with $deleteFromPrimitiveList/finalizers
  //   PATCH application/apply-patch+yaml with fieldManager (422 without), force, also of /status:
  //     creates, takes over fields, removes those that the manager no longer names, 409 on another
  //     manager's fields. Simplified: the body is JSON; lists are one field each, whatever their
  //     keys; who wrote otherwise owns nothing; managedFields are not shown
  //   POST selfsubjectaccessreviews (review_access())
  //   DELETE with preconditions.uid and .resourceVersion (409). Dependants wait for
  //     collect_garbage(), which first ends those of an owner deleted with Foreground; with Orphan
  //     they lose their owner reference at once. An object with finalizers only gets its
  //     deletionTimestamp, by collect_garbage() too
  Result<std::string> send(const kube::ApiRequest& request) override;
  // Any path with watch=true. Lines from resourceVersion on (absent or 0: first everything as
  // ADDED, and with sendInitialEvents a bookmark that says so) until `stop`, until on_line returns
  // false or until end_watches().
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

  // ---- the test's own hand: never fails by fail_next(), not in writes(), watchers see it

  // Creates, with `status` as given; returns it as stored. The name must be free.
  Json add(const kube::ResourceKind& kind, std::string_view ns, Json object);
  // Merge-patches anything, status included, creating nothing; null if there is no such object.
  Json change(const kube::ResourceKind& kind, std::string_view ns, std::string_view name,
              const Json& patch);
  // Removes at once, whatever its finalizers or grace say. False if there was none.
  bool remove(const kube::ResourceKind& kind, std::string_view ns, std::string_view name);
  // Null if there is none.
  Json get(const kube::ResourceKind& kind, std::string_view ns, std::string_view name) const;
  // Sorted by namespace and name. Empty ns: all.
  std::vector<Json> list(const kube::ResourceKind& kind, std::string_view ns = "") const;
  // The same without copies, for those who look often. `look` must not call this API.
  void each(const kube::ResourceKind& kind, const std::function<void(const Json&)>& look) const;
  std::int64_t resource_version() const;  // the latest one given out

  // Deletes what has owners of which none exists any more, and what hinders the end of an owner
  // that was deleted with Foreground, until nothing changes. Returns how many.
  int collect_garbage();
  // From now on DELETE of a bound, unfinished pod only sets its deletionTimestamp, as with a real
  // kubelet; the test ends it with remove() or end_termination(). gracePeriodSeconds 0 still
  // removes at once, unless finalizers hold the pod.
  void terminate_pods_slowly();
  // What the kubelet does when a terminating pod's containers have ended: a final phase, if it has
  // none yet, and its own DELETE without grace. False if the pod is not terminating. A finalizer
  // still holds it.
  bool end_termination(std::string_view ns, std::string_view pod);

  // ---- other endpoints

  // GET of exactly this path (with query) answers `body`.
  void serve(const std::string& path, std::string body);
  // POST to a collection of this plural ("subjectaccessreviews") is answered, not stored.
  void answer(const std::string& plural, std::function<Result<Json>(const Json& body)> reply);
  // What SelfSubjectAccessReviews say of these spec.resourceAttributes. Until then all is allowed.
  void review_access(std::function<bool(const Json& attributes)> is_allowed);

  // ---- faults

  using Matcher = std::function<bool(const kube::ApiRequest&)>;
  // The next `times` matching requests fail with `error`. A watch is matched as method "WATCH".
  // Faults are tried in the order they were given.
  void fail_next(Matcher matches, Error error, Applied applied = Applied::kNo, int times = 1);
  // Matches the method ("" = any) and a part of the path with its query.
  void fail_next(std::string method, std::string path_part, Error error,
                 Applied applied = Applied::kNo, int times = 1);
  // Watch positions before now are too old: 410 as an ERROR line or, if `as_status`, as the HTTP
  // status. Continue tokens of lists are too old as well.
  void compact(bool as_status = false);
  // sendInitialEvents answers 422 from now on, as by servers that do not know streaming lists.
  void refuse_streaming_lists();
  // Ends every open watch, as the server does after timeoutSeconds.
  void end_watches();
  // Watchers hear nothing until resume_watches(): caches go stale.
  void pause_watches();
  void resume_watches();
  // Sends a BOOKMARK to watchers that asked for bookmarks.
  void bookmark();
  // The lines that a watch of `path` (with its selectors) gets of all versions in (after, up_to]:
  // for simulations that deliver by hand, as late as they like.
  std::vector<std::string> told(const std::string& path, std::int64_t after,
                                std::int64_t up_to) const;

  // ---- what was asked

  struct Write {
    std::string method;
    std::string path;  // without the query
    Json body;
    std::optional<Code> error;  // as the caller saw it
    bool applied = false;
  };
  std::vector<Write> writes() const;  // every request but GET, in order
  // Those whose method is equal and whose path contains `path_part`.
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

  // mutex_ is held in all of these.
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
  std::vector<FakePath> dependants_of(const std::string& uid) const;
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
