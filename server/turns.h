// server/turns.h - whose turn is it to change this job? One request of this process at a time.
#pragma once

#include <set>
#include <string>

#include "base/mutex.h"

namespace nervex::server {

// Requests for one job that arrive together would only meet each other's resourceVersion: each try
// of one makes the others' tries conflict. Thread-safe; no order among those who wait.
class Turns {
 public:
  class Turn {
   public:
    Turn(Turns& turns, std::string key);  // waits until nobody else holds `key`
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
    const std::string key_;
  };

 private:
  Mutex mutex_;
  CondVar ended_;
  std::set<std::string> taken_ GUARDED_BY(mutex_);
};

}  // namespace nervex::server
