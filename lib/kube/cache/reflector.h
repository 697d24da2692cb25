// kube/cache/reflector.h - how does a store follow the API server? List, then watch, repeatedly.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "kube/cache/reflector_rules.h"
#include "kube/cache/store.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "kube/model/watch.h"

namespace nervex::kube {

struct ReflectorOptions {
  std::string path;  // collection: api_path(kPods), maybe with ?labelSelector=
  int page_size = 500;
  std::chrono::milliseconds backoff_initial{800};
  std::chrono::milliseconds backoff_max{30'000};
  // Request lists as the start of a watch (Kubernetes 1.32, KEP-3157), so that neither side holds a
  // whole page of objects. If a server refuses, all later lists come in pages.
  bool streaming_lists = true;
  // refresh() lists a kind again if its last list had at most this many objects. For small kinds
  // that is faster than the bookmark of a short watch, which larger kinds use (kube-apiserver 1.36:
  // 10 ms against 0.5 to 1.5 s).
  std::size_t few_objects = 500;
  // A list with more objects is an error: a server that never ends it would fill the memory.
  std::size_t most_objects = 5'000'000;
  // The kind may be missing because its CRD is not installed. Then a 404 counts as an empty list,
  // and the next request follows after this time. Not set: a 404 is an error.
  std::optional<std::chrono::milliseconds> retry_missing{};
  // Called on the reflector's thread when such a kind is found missing, and when it appears.
  std::function<void(bool is_missing)> on_missing = [](bool) {};
  // Called on the reflector's thread when synced() or check_fresh() may have become true.
  std::function<void()> on_progress = [] {};
};

// Receives a reflector's updates. Called only on the reflector's thread.
struct ReflectorSink {
  // Starts a list, which ends with end_list(). Called again instead if the list failed.
  std::function<void()> begin_list;
  // One listed, added or modified object's JSON text. An Error is logged and the object skipped.
  std::function<Result<Nothing>(std::string_view json)> upsert;
  // One deleted object's JSON text.
  std::function<void(std::string_view json)> remove;
  // The list is complete as of this resourceVersion; objects not in it were deleted.
  std::function<void(std::string_view version)> end_list;
};

// Owns one thread from start() until destruction. Lists, watches from there with bookmarks, lists
// again on 410, reconnects with jittered back-off (0.8 s, doubling, to 30 s). Lists never name a
// resourceVersion, so they are consistent reads. A connection without an answer for 150 s counts as
// broken; a watch without an event or a bookmark for two minutes leads to a new list.
class Reflector {
 public:
  Reflector(Api& api, ReflectorOptions options, ReflectorSink sink);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // The first list is complete. Thread-safe.
  bool synced() const { return synced_.load(); }
  // The API server refused the last request (401, 403). Thread-safe.
  bool is_refused() const { return refused_.load(); }
  // kTransient until synced: "pods are not listed yet", with the last failure. `what` is the kind's
  // plural. Thread-safe.
  Result<Nothing> check_synced(std::string_view what) const;

  // Requires the sink to get everything now stored at the API server before check_fresh() succeeds
  // again. Ends the open watch or the back-off, because an idle kind learns its position only with
  // the next bookmark. Retries with back-off until answered; a list in progress finishes first.
  // Thread-safe.
  void refresh();
  // kTransient until the last refresh() is answered: "pods may be out of date", with the last
  // failure. Thread-safe.
  Result<Nothing> check_fresh(std::string_view what) const;

 private:
  class Pace;

  void run(const std::stop_token& stop);
  // Reads all pages; starts over once if they expire meanwhile. Sets the position to the list's.
  Result<Nothing> list_pages(const std::stop_token& stop);
  Result<Nothing> list_pages_once(const std::stop_token& stop);
  // One watch from `position_`; without a position, a streaming list and the watch behind it.
  RequestEnd stream(int timeout_seconds, const std::stop_token& stop);
  // For an open question: clears `position_` if a list must answer it, else finds out which version
  // the watch must reach.
  Result<Nothing> follow_question();
  Result<std::string> newest_version();
  bool is_refreshing() const;
  // From here on refresh() may end the request through `request`. False: it was already called.
  bool may_be_ended(const std::stop_source& request);
  void back_off(std::chrono::milliseconds time, const std::stop_token& stop);
  // Error: the stream cannot be used any more.
  Result<Nothing> take(WatchEvent event);
  void begin_list();
  // One more object of the current list. Error: too many.
  Result<Nothing> count_listed();
  void finish_list(std::string version);
  void log_failure(const char* event, const Error& error);
  bool is_missing(const Error& error) const;
  void note_missing(bool is_missing);
  // After a streaming list: whether to stream the next one too.
  bool keeps_streaming(const RequestEnd& end);

  Api& api_;
  const ReflectorOptions options_;
  const ReflectorSink sink_;
  std::atomic<bool> synced_{false};
  std::atomic<bool> refused_{false};
  mutable Mutex mutex_;
  CondVar asked_;                           // refresh() was called
  std::string failure_ GUARDED_BY(mutex_);  // the last one before it was synced or fresh
  Freshness freshness_ GUARDED_BY(mutex_);
  std::optional<std::stop_source> watch_ GUARDED_BY(mutex_);  // the watch that refresh() may end
  // The reflector thread's own:
  Freshness::Question noticed_ = 0;     // the latest question when the current request was chosen
  Freshness::Question list_knows_ = 0;  // the latest question when the current list began
  std::size_t listed_ = 0;              // objects in the current or last list
  std::string position_;       // resourceVersion up to which all is known; empty: list next
  bool follows_list_ = false;  // RequestEnd::follows_list
  bool streams_lists_;
  std::optional<bool> is_kind_missing_;  // as last reported
  int broken_streams_ = 0;               // consecutive streaming lists that broke off
  std::jthread thread_;
};

// The usual sink: decodes into `store` and reports each difference to `changed(before, after)`,
// either of which may be null. `decode` may filter with kNotFound: the object counts as absent.
// What Store::update() folds in appears as `before` in the next difference.
// `readability_changed(key)`: an object became unreadable, or an unreadable one was deleted or
// became readable.
template <typename T>
ReflectorSink sink_into(
    Store<T>& store, std::function<Result<T>(std::string_view json)> decode,
    std::function<void(const typename Store<T>::Ptr& before, const typename Store<T>::Ptr& after)>
        changed,
    std::function<void(const std::string& key)> readability_changed = nullptr) {
  using Ptr = typename Store<T>::Ptr;
  const auto tell = [changed = std::move(changed)](const Ptr& before, const Ptr& after) {
    if (changed && before != after) changed(before, after);
  };

  ReflectorSink sink;
  sink.begin_list = [&store] { store.begin_list(); };
  // Objects that `store` no longer has as unreadable.
  const auto tell_gone = [&store, readability_changed](const std::vector<std::string>& unreadable) {
    for (const auto& key : unreadable) {
      if (readability_changed && !store.unreadable(key)) readability_changed(key);
    }
  };
  sink.upsert = [&store, tell, readability_changed = std::move(readability_changed),
                 decode = std::move(decode)](std::string_view json) -> Result<Nothing> {
    auto object = decode(json);
    if (object) {
      const std::string key = object_key(*object);
      const auto [before, after] = store.exchange(key, *std::move(object));
      tell(before, after);
      return ok();
    }
    const auto id = identify(json);
    if (!id) return id.error();
    if (object.error().code == Code::kNotFound) {
      tell(store.erase(id->key, id->resource_version), nullptr);
      return ok();
    }
    // The object exists: its last readable state is better than none.
    const auto whole = parse_json(json);
    const bool deleting = whole && decode_meta(*whole).deleting;
    tell(store.keep(id->key, {id->uid, deleting, object.error().message}), nullptr);
    if (readability_changed) readability_changed(id->key);
    return object.error();
  };
  sink.remove = [&store, tell, tell_gone](std::string_view json) {
    const auto id = identify(json);
    if (!id) return;
    const bool was_unreadable = store.unreadable(id->key).has_value();
    tell(store.erase(id->key, id->resource_version, id->uid), nullptr);
    if (was_unreadable) tell_gone({id->key});
  };
  sink.end_list = [&store, tell, tell_gone](std::string_view version) {
    const auto unreadable = store.unreadable_keys();
    for (const auto& gone : store.end_list(version)) tell(gone, nullptr);
    tell_gone(unreadable);
  };
  return sink;
}

}  // namespace nervex::kube
