#include "server/keyed_mutex.h"

#include <utility>

namespace nervex::server {

KeyedMutex::Lock::Lock(KeyedMutex& mutex, std::string key) : keyed_(mutex), key_(std::move(key)) {
  MutexLock lock(keyed_.mutex_);
  while (!keyed_.taken_.insert(key_).second) keyed_.ended_.wait(keyed_.mutex_);
}

KeyedMutex::Lock::~Lock() {
  MutexLock lock(keyed_.mutex_);
  keyed_.taken_.erase(key_);
  keyed_.ended_.notify_all();
}

}  // namespace nervex::server
