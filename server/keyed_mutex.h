// server/keyed_mutex.h - one request of this process at a time for each job.
#pragma once

#include <set>
#include <string>

#include "base/mutex.h"

namespace nervex::server {

// Requests for one job that arrive together would only overtake each other: each write of one makes
// the others decide again. Thread-safe; no order among those who wait.
class KeyedMutex {
 public:
  class Lock {
   public:
    Lock(KeyedMutex& mutex, std::string key);  // waits until nobody else holds `key`
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    KeyedMutex& keyed_;
    const std::string key_;
  };

 private:
  Mutex mutex_;
  CondVar ended_;
  std::set<std::string> taken_ GUARDED_BY(mutex_);
};

}  // namespace nervex::server
