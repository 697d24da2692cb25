// kube/cache/reflector.h - how does a store stay equal to the API server? List, then watch, for
// ever.
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
  // Ask for lists as the beginning of a watch (Kubernetes 1.32, KEP-3157): neither side then holds
  // a whole page of objects. A server that refuses is asked for pages from then on.
  bool streaming_lists = true;
  // refresh(): a kind of which the last list had at most so many objects is listed again. That is
  // quicker than the bookmark of a short watch, which is what larger kinds are brought up to date
  // by (kube-apiserver 1.36: 10 ms against 0.5 to 1.5 s).
  std::size_t few_objects = 500;
  // The kind may be missing: its CRD is not installed. Then the API server answers 404, which
  // counts as a list of nothing, and it is asked again after this time. Not set: a 404 is an error.
  std::optional<std::chrono::milliseconds> retry_missing{};
  // Called on the reflector's thread when it turned out that such a kind is missing, and that it is
  // there.
  std::function<void(bool is_missing)> on_missing = [](bool) {};
  // Called on the reflector's thread when synced() or check_fresh() may have changed for the
  // better.
  std::function<void()> on_progress = [] {};
};

// What a reflector feeds. Called on the reflector's thread only.
struct ReflectorSink {
  // Everything from here to end_list() is one list. It may come again instead: the list failed.
  std::function<void()> begin_list;
  // One listed, added or modified object's JSON text. An Error is logged and the object skipped.
  std::function<Result<Nothing>(std::string_view json)> upsert;
  // One deleted object's JSON text.
  std::function<void(std::string_view json)> remove;
  // The list is complete, as of this resourceVersion: what it does not have was deleted.
  std::function<void(std::string_view version)> end_list;
};

// Owns one thread from start() until it is destroyed. Lists, watches from there with bookmarks,
// lists again on 410, reconnects with jittered back-off (0.8 s, doubling, to 30 s). Lists never
// name a resourceVersion, so they are consistent reads. No answer for 150 s counts as broken; a
// watch that hears neither an event nor a bookmark for two minutes ends in a new list.
class Reflector {
 public:
  Reflector(Api& api, ReflectorOptions options, ReflectorSink sink);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // The first list is complete. Thread-safe.
  bool synced() const { return synced_.load(); }
  // kTransient until synced: "pods are not listed yet", with the last failure. `what` is the kind's
  // plural. Thread-safe.
  Result<Nothing> check_synced(std::string_view what) const;

  // Asks that the sink get everything that is stored now, at the API server, before
  // check_fresh() succeeds again. Ends the watch that is open, or the back-off: an idle kind would
  // hear how far it is only with the next bookmark. Repeated with back-off until it is answered; a
  // list under way is left to end first. Thread-safe.
  void refresh();
  // kTransient while a refresh() is not answered: "pods may be out of date", with the last failure.
  // Thread-safe.
  Result<Nothing> check_fresh(std::string_view what) const;

 private:
  class Pace;

  void run(const std::stop_token& stop);
  // All pages; starts over once if they expire on the way. The position afterwards is the list's.
  Result<Nothing> list_pages(const std::stop_token& stop);
  Result<Nothing> list_pages_once(const std::stop_token& stop);
  // One watch from `position_`, or, if there is none, a streaming list and the watch behind it.
  RequestEnd stream(int timeout_seconds, const std::stop_token& stop);
  // For an open question: clears `position_` if a list is to answer it, else finds out how far the
  // watch has to get.
  Result<Nothing> follow_question();
  Result<std::string> newest_version();
  bool is_refreshing() const;
  // From here on refresh() may end the request by `request`. False: it was called meanwhile.
  bool may_be_ended(const std::stop_source& request);
  void back_off(std::chrono::milliseconds time, const std::stop_token& stop);
  // An Error: the stream is of no more use.
  Result<Nothing> take(WatchEvent event);
  void begin_list();
  void finish_list(std::string version);
  void log_failure(const char* event, const Error& error);
  bool is_missing(const Error& error) const;
  void note_missing(bool is_missing);
  // After a streaming list: is the next one to be streamed as well?
  bool keeps_streaming(const RequestEnd& end);

  Api& api_;
  const ReflectorOptions options_;
  const ReflectorSink sink_;
  std::atomic<bool> synced_{false};
  mutable Mutex mutex_;
  CondVar asked_;                           // refresh() was called
  std::string failure_ GUARDED_BY(mutex_);  // the last one while not synced, or not fresh
  Freshness freshness_ GUARDED_BY(mutex_);
  std::optional<std::stop_source> watch_ GUARDED_BY(mutex_);  // the watch that may be ended
  // The reflector thread's own:
  Freshness::Question noticed_ = 0;     // the latest question when the request under way was chosen
  Freshness::Question list_knows_ = 0;  // the latest one when the list under way was begun
  std::size_t listed_ = 0;              // objects of the list under way, or of the last one
  std::string position_;  // resourceVersion up to which all is known; empty: a list is due
  bool streams_lists_;
  std::optional<bool> is_kind_missing_;  // as said last
  int broken_streams_ = 0;               // streaming lists in a row that broke off half-way
  std::jthread thread_;
};

// The usual sink: decodes into `store` and tells `changed(before, after)` of each difference,
// either of which may be null. `decode` may filter by returning kNotFound: the object counts as
// absent. What Store::update() folds in is reported by the next difference, as its `before`.
// `readability_changed(key)`: what is there cannot be read, or what was there could not be and is
// gone.
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
  // `store` no longer has them as unreadable.
  const auto tell_gone = [&store, readability_changed](const std::vector<std::string>& unreadable) {
    for (const auto& key : unreadable) {
      if (readability_changed && !store.unreadable(key)) readability_changed(key);
    }
  };
  sink.upsert = [&store, tell, readability_changed = std::move(readability_changed),
                 decode = std::move(decode)](std::string_view json) -> Result<Nothing> {
    auto object = decode(json);
    if (object) {
      const std::string key = key_of(*object);
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
    // It exists: the last state that could be read is better than none.
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
