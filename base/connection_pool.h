// base/connection_pool.h - which of the kept connections carries the next request?
#pragma once

#include <memory>
#include <vector>

#include "base/call_limit.h"
#include "base/dial.h"
#include "base/mutex.h"

namespace nervex {

// A bounded number of connections to one server; callers beyond that wait for one. Thread-safe.
class ConnectionPool {
 public:
  explicit ConnectionPool(std::size_t size) : free_places_(std::max<std::size_t>(size, 1)) {}

  // A place in the pool for the length of a scope, waited for until `limit` or `deadline`.
  class Lease {
   public:
    Lease(ConnectionPool& pool, const CallLimit& limit, MonoTime deadline);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // False: the limit or the deadline came first.
    bool has_place() const { return has_place_; }
    // A kept connection, if there is one that can still be used: when a server has restarted, all
    // of them are dead, and the caller must not find that out by losing requests.
    std::unique_ptr<DialedConnection> take_fresh();
    // For the next caller. What is not kept is closed.
    void keep(std::unique_ptr<DialedConnection> connection) { kept_ = std::move(connection); }

   private:
    ConnectionPool& pool_;
    std::uint64_t generation_ = 0;
    bool has_place_;
    std::unique_ptr<DialedConnection> kept_;
  };

  // Makes those who wait for a place look at their limit again.
  void wake_waiting();
  // Closes what is kept; what is in use is closed when it comes back.
  void close_all();

 private:
  using Dialed = std::unique_ptr<DialedConnection>;

  bool wait_for_place(const CallLimit& limit, MonoTime deadline, std::uint64_t& generation);
  Dialed take_kept();
  void give_back(Dialed connection, std::uint64_t generation);

  Mutex mutex_;
  CondVar freed_;
  std::size_t free_places_ GUARDED_BY(mutex_);
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;  // close_all() raises it
  std::vector<Dialed> kept_ GUARDED_BY(mutex_);
};

}  // namespace nervex
