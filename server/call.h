// server/call.h - one changing call, from its arrival until its reply is written.
#pragma once

#include <memory>
#include <optional>

#include "job/types.h"
#include "server/idempotency.h"
#include "server/keyed_mutex.h"

namespace nervex::server {

// What is kept until the reply is written: the job's lock, so that an equal call which waits can be
// judged by whether this one's caller got its reply; and the record that the reply rests on.
// The caller gives it to Changes::reply_done(); merely dropped, it counts as not written.
struct Delivery {
  std::unique_ptr<KeyedMutex::Lock> lock;
  std::optional<job::CallRecord> record;
};

struct Call {
  CallId id;
  Delivery* delivery = nullptr;  // borrowed; null: nobody will know about the reply
};

}  // namespace nervex::server
