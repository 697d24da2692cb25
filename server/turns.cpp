#include "server/turns.h"

#include <utility>

namespace nervex::server {

Turns::Turn::Turn(Turns& turns, std::string key) : turns_(turns), key_(std::move(key)) {
  MutexLock lock(turns_.mutex_);
  while (!turns_.taken_.insert(key_).second) turns_.ended_.wait(turns_.mutex_);
}

Turns::Turn::~Turn() {
  MutexLock lock(turns_.mutex_);
  turns_.taken_.erase(key_);
  turns_.ended_.notify_all();
}

}  // namespace nervex::server
