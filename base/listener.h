// base/listener.h - who may connect, and which thread serves whom? One thread per connection.
//
// Threads start on demand and end with their connection. When all places are taken, the connection
// that has been idle for longest makes room; when none is idle, the newcomer is closed at once, so
// that it can turn to another replica instead of waiting.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include <pthread.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/socket.h"

namespace nervex {

class Listener {
 public:
  // One accepted connection's place; what its thread tells the listener. Lives as long as `serve`
  // runs for it.
  class Place {
   public:
    // Connected and non-blocking. The listener closes it after `serve`.
    int socket() const { return socket_.get(); }
    const std::string& peer() const { return peer_; }  // the address, without the port
    // Between requests a connection may be shut down to make room for another.
    void set_idle(bool idle);

   private:
    friend class Listener;
    Listener* listener_ = nullptr;
    UniqueFd socket_;
    std::string peer_;
    pthread_t thread_{};
    std::optional<MonoTime> idle_since_;
    bool leaving_ = false;   // was shut down to make room
    bool finished_ = false;  // its thread needs nothing but to be joined
  };
  using Serve = std::function<void(Place&)>;

  // `serve` runs on many threads at once; it returns soon after stop_fd() is readable.
  Listener(std::size_t max_connections, Serve serve);
  ~Listener();  // stops
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // "HOST:PORT", "[::1]:PORT", ":PORT" (all addresses). kInvalid: no such form or address;
  // kTransient: it is taken.
  Result<Nothing> start(const std::string& address);
  // Accepts no more and waits until every connection's thread is done. Idempotent, thread-safe.
  void stop();

  int port() const { return port_; }
  // Readable from the moment stop() is called.
  int stop_fd() const { return stop_.get(); }
  bool is_stopping() const { return stopping_; }
  // Nearly full: time to ask callers to close.
  bool is_crowded() const { return live_ > max_connections_ - max_connections_ / 8; }

 private:
  static void* accept_entry(void* listener);
  static void* serve_entry(void* place);
  void accept_until_stopped();
  // False if there is nobody to accept at the moment.
  bool accept_one();
  void wait_for_resources();
  void place_or_refuse(UniqueFd socket, std::string peer);
  bool make_room() REQUIRES(mutex_);
  void finish(Place& place);
  void join_finished();
  void join_all();

  const std::size_t max_connections_;
  const Serve serve_;
  WakeFd stop_;
  std::atomic<bool> stopping_ = false;
  bool starved_ = false;  // the system had no descriptors or memory; only the accept thread's
  std::atomic<std::size_t> live_ = 0;  // places that are neither leaving nor finished
  UniqueFd socket_;
  int port_ = 0;
  pthread_t accept_thread_{};
  bool started_ = false;
  Mutex stop_mutex_;  // one stop() at a time
  Mutex mutex_;
  std::list<Place> places_ GUARDED_BY(mutex_);
};

}  // namespace nervex
