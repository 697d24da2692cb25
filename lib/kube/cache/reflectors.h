// kube/cache/reflectors.h - which kinds does a program watch, and are they listed and up to date?
// As controller-runtime's Cache.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kube/cache/reflector.h"
#include "kube/cache/store.h"

namespace nervex::kube {

// One reflector, and so one thread, per kind, from start() until stop() or destruction. Add kinds
// before start(). The checks are thread-safe.
class Reflectors {
 public:
  explicit Reflectors(Api& api) : api_(api) {}
  Reflectors(const Reflectors&) = delete;
  Reflectors& operator=(const Reflectors&) = delete;

  // `kind` is its plural, for people and metrics. `sink` fills `store`, which outlives the threads.
  template <typename T>
  void add(const char* kind, std::string path, const Store<T>& store, ReflectorSink sink) {
    ReflectorOptions options;
    options.path = std::move(path);
    options.on_progress = [this] { progressed(); };
    watches_.push_back({kind, [&store] { return store.size(); },
                        std::make_unique<Reflector>(api_, options, std::move(sink)), false});
  }
  // The same for a kind that may be missing, now or later. No check below includes it.
  // `on_missing`: ReflectorOptions.
  template <typename T>
  void add_optional(const char* kind, std::string path, const Store<T>& store, ReflectorSink sink,
                    std::function<void(bool is_missing)> on_missing) {
    ReflectorOptions options;
    options.path = std::move(path);
    options.retry_missing = kRetryMissing;
    options.on_progress = [this] { progressed(); };
    options.on_missing = std::move(on_missing);
    watches_.push_back({kind, [&store] { return store.size(); },
                        std::make_unique<Reflector>(api_, options, std::move(sink)), true});
  }

  // Adds a kind that may be missing, but must not be thought so too early: the checks
  // include it until the API server has said that there is none, or that this program may not read
  // it. Then it counts as empty.
  template <typename T>
  void add_awaited(const char* kind, std::string path, const Store<T>& store, ReflectorSink sink) {
    add_optional(kind, std::move(path), store, std::move(sink), [](bool) {});
    watches_.back().is_awaited = true;
  }

  void start();
  void stop();  // joins the threads and ends all watches

  // All first lists are complete. kTransient names the kind that is not listed.
  Result<Nothing> check_synced() const;
  // For a new leader, because the previous leader's writes may not have come through our watches:
  // requires every cache to be brought up to date, and returns at once.
  void refresh();
  // check_synced(), and every cache is up to date since refresh(). kTransient: which one is not,
  // and why.
  Result<Nothing> check_current() const;
  // Returns as soon as check_current() succeeds. False: `stop` was requested first.
  bool wait_until_current(const std::stop_token& stop);

  // Calls `visit` with each kind and a thread-safe function that counts its objects.
  void visit(
      const std::function<void(const char* kind, std::function<std::size_t()>)>& visit) const;

 private:
  struct Watch {
    const char* kind;
    std::function<std::size_t()> size;
    std::unique_ptr<Reflector> reflector;
    bool is_optional = false;
    bool is_awaited = false;  // although it is optional

    bool is_checked() const { return !is_optional || (is_awaited && !reflector->is_refused()); }
  };
  static constexpr std::chrono::milliseconds kRetryMissing{10'000};
  void progressed();

  Api& api_;
  Mutex mutex_;  // only for waiting
  CondVar progressed_;
  std::vector<Watch> watches_;
};

}  // namespace nervex::kube
