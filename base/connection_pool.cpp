#include "base/connection_pool.h"

#include <algorithm>
#include <utility>

namespace nervex {

ConnectionPool::Lease::Lease(ConnectionPool& pool, const CallLimit& limit, MonoTime deadline)
    : pool_(pool), has_place_(pool.wait_for_place(limit, deadline, generation_)) {}

ConnectionPool::Lease::~Lease() {
  if (has_place_) pool_.give_back(std::move(kept_), generation_);
}

std::unique_ptr<DialedConnection> ConnectionPool::Lease::take_fresh() {
  while (Dialed taken = pool_.take_kept()) {
    if (taken->connection.is_fresh()) return taken;
  }
  return nullptr;
}

bool ConnectionPool::wait_for_place(const CallLimit& limit, MonoTime deadline,
                                    std::uint64_t& generation) {
  MutexLock lock(mutex_);
  while (free_places_ == 0) {
    if (limit.is_over() || SystemClock().mono() >= deadline) return false;
    freed_.wait_until(mutex_, std::min(limit.time(), deadline));
  }
  --free_places_;
  generation = generation_;
  return true;
}

// The one used last: the others may then grow old enough for the server to close them.
ConnectionPool::Dialed ConnectionPool::take_kept() {
  const MutexLock lock(mutex_);
  if (kept_.empty()) return nullptr;
  Dialed connection = std::move(kept_.back());
  kept_.pop_back();
  return connection;
}

void ConnectionPool::give_back(Dialed connection, std::uint64_t generation) {
  {
    const MutexLock lock(mutex_);
    ++free_places_;
    if (connection && generation == generation_) kept_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

void ConnectionPool::wake_waiting() {
  // With the lock: nobody stands between looking at the limit and beginning to wait.
  const MutexLock lock(mutex_);
  freed_.notify_all();
}

void ConnectionPool::close_all() {
  std::vector<Dialed> closed;  // after the lock is released
  const MutexLock lock(mutex_);
  ++generation_;
  closed.swap(kept_);
}

}  // namespace nervex
