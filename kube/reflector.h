// kube/reflector.h - how does a store stay equal to the API server? List, then watch, for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kube/api.h"
#include "kube/model/watch.h"
#include "kube/store.h"

namespace nervex::kube {

struct ReflectorOptions {
  std::string path;  // collection: api_path(kPods), maybe with ?labelSelector=
  int page_size = 500;
  std::chrono::milliseconds backoff_initial{800};
  std::chrono::milliseconds backoff_max{30'000};
};

// What a reflector feeds. Called on the reflector's thread only.
struct ReflectorSink {
  // One listed, added or modified object's JSON text. Returns its key; an Error is logged and the
  // object skipped.
  std::function<Result<std::string>(std::string_view json)> upsert;
  // One deleted object's JSON text.
  std::function<void(std::string_view json)> remove;
  // After a complete list: everything whose key was not in it is gone.
  std::function<void(const std::vector<std::string>& listed_keys)> retain;
};

// Owns one thread from start() until it is destroyed. Lists page by page, watches from there with
// bookmarks, lists again on 410, reconnects with jittered back-off. No answer for 150 s counts as
// broken.
class Reflector {
 public:
  Reflector(Api& api, ReflectorOptions options, ReflectorSink sink);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // The first list is complete. Thread-safe.
  bool synced() const { return synced_.load(); }

 private:
  void run(const std::stop_token& stop);
  // The list's resourceVersion; empty if stopped on the way.
  Result<std::string> list(const std::stop_token& stop);
  Result<Nothing> watch(std::string& resource_version, int timeout_seconds,
                        const std::stop_token& stop);
  void apply(const WatchEvent& event);

  Api& api_;
  const ReflectorOptions options_;
  const ReflectorSink sink_;
  std::atomic<bool> synced_{false};
  std::jthread thread_;
};

// The usual sink: decodes into `store` and tells `changed(before, after)` of each difference,
// either of which may be null. `decode` may filter by returning kNotFound: the object counts as
// absent. What Store::update() folds in is told by the next difference, as its `before`.
template <typename T>
ReflectorSink sink_into(
    Store<T>& store, std::function<Result<T>(std::string_view json)> decode,
    std::function<void(const typename Store<T>::Ptr& before, const typename Store<T>::Ptr& after)>
        changed);

}  // namespace nervex::kube

#include "kube/reflector_impl.h"
