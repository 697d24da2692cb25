// kube/cache/reflectors.h - all kinds that a program watches, as controller-runtime's Cache: are
// they listed, are they up to date?
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

// One reflector, so one thread, per kind, from start() until stop() or destruction. Kinds are added
// before start(). What is said of them is thread-safe.
class Reflectors {
 public:
  explicit Reflectors(Api& api) : api_(api) {}
  Reflectors(const Reflectors&) = delete;
  Reflectors& operator=(const Reflectors&) = delete;

  // `kind` is its plural, for people and metrics. `store` is what `sink` fills, and outlives the
  // threads.
  template <typename T>
  void add(const char* kind, std::string path, const Store<T>& store, ReflectorSink sink) {
    ReflectorOptions options;
    options.path = std::move(path);
    options.on_progress = [this] { progressed(); };
    watches_.push_back({kind, [&store] { return store.size(); },
                        std::make_unique<Reflector>(api_, options, std::move(sink)), false});
  }
  // The same of a kind that may be missing, now or later. Nothing waits for it: it has no part in
  // what is said below. `on_missing`: ReflectorOptions.
  template <typename T>
  void add_optional(const char* kind, std::string path, const Store<T>& store, ReflectorSink sink,
                    std::function<void(bool is_missing)> on_missing) {
    ReflectorOptions options;
    options.path = std::move(path);
    options.retry_missing = kRetryMissing;
    options.on_missing = std::move(on_missing);
    watches_.push_back({kind, [&store] { return store.size(); },
                        std::make_unique<Reflector>(api_, options, std::move(sink)), true});
  }

  void start();
  void stop();  // joins the threads; nothing is watched any more

  // All first lists are complete. kTransient: which one is not.
  Result<Nothing> check_synced() const;
  // For a new leader, since what the one before it wrote may not have come through our watches:
  // asks that every cache be brought up to date, and returns.
  void refresh();
  // check_synced(), and every cache is up to date since refresh(). kTransient: which one is not,
  // and why.
  Result<Nothing> check_current() const;
  // Returns as soon as check_current() succeeds. False: `stop` was requested before that.
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
  };
  static constexpr std::chrono::milliseconds kRetryMissing{10'000};
  void progressed();

  Api& api_;
  Mutex mutex_;  // for waiting alone
  CondVar progressed_;
  std::vector<Watch> watches_;
};

}  // namespace nervex::kube
