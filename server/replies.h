// server/replies.h - which replies does this process know its callers to have?
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "job/types.h"
#include "server/idempotency.h"

namespace nervex::server {

// Of the newest few thousand calls; what is forgotten is kUnknown. Thread-safe.
class Replies {
 public:
  ReplyState state_of(const job::CallRecord& record) const;
  // kWritten is the last word.
  void set(const job::CallRecord& record, ReplyState state);

 private:
  static constexpr std::size_t kMost = 8192;

  mutable Mutex mutex_;
  std::unordered_map<std::string, ReplyState> states_ GUARDED_BY(mutex_);  // by writer and number
  std::deque<std::string> order_ GUARDED_BY(mutex_);                       // oldest first
};

}  // namespace nervex::server
