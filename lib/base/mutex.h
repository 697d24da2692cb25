// base/mutex.h - a mutex whose use clang can check (-Wthread-safety).
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define NERVEX_TSA(x) __attribute__((x))
#else
#define NERVEX_TSA(x)
#endif
#define GUARDED_BY(x) NERVEX_TSA(guarded_by(x))
#define REQUIRES(...) NERVEX_TSA(requires_capability(__VA_ARGS__))

namespace nervex {

class NERVEX_TSA(capability("mutex")) Mutex {
 public:
  void lock() NERVEX_TSA(acquire_capability()) { mutex_.lock(); }
  void unlock() NERVEX_TSA(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class NERVEX_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) NERVEX_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() NERVEX_TSA(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits with a Mutex that the caller holds.
using CondVar = std::condition_variable_any;

}  // namespace nervex
