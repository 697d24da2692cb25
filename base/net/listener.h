// base/net/listener.h - who may connect, and which thread serves whom? One thread per connection.
//
// Each connection needs a permit, of which there are `max_connections`. Threads start on demand and
// end with their connection. Above the high watermark every new connection evicts the one that has
// been idle for longest. When no permit is free and no connection is idle, the slowest sender is
// evicted. When all are busy, new ones stay in the system's queue for a moment (`queue_timeout`);
// then they get an answer that says so and are closed, so that their callers can try another
// replica. One address cannot take the permits of all others: above `max_per_peer` its new
// connections take the place of its own idle or slow ones, or are refused at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <pthread.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/net/socket.h"

namespace nervex {

struct ListenerOptions {
  std::size_t max_connections = 256;
  std::size_t max_per_peer = 0;      // live connections of one address; 0: no limit of its own
  int high_watermark_percent = 100;  // of max_connections
  std::chrono::milliseconds queue_timeout = std::chrono::seconds(1);
  std::string full{};  // what a connection gets that is refused for the limit; empty: nothing
};

class Listener {
 public:
  // One accepted connection's permit, and its state as its thread reports it. Lives as long as
  // `serve` runs for it.
  class Permit {
   public:
    enum class State {
      kIdle,       // between requests: may be evicted for a new connection
      kReceiving,  // a request or handshake is arriving: may be evicted if it is slow
      kBusy,       // a handler works on the request, or its reply is being written
      kWaiting,  // a handler waits for requests of others: may lose its permit, not its connection
      kLeaving,  // the last reply is written: the first to be evicted
    };
    // Connected and non-blocking. The listener closes it after `serve`.
    int socket() const { return socket_.get(); }
    const std::string& peer() const { return peer_; }  // the address, without the port
    void set_state(State state);
    // Its place was given to a new connection: it should end soon.
    bool is_evicted() const;

   private:
    friend class Listener;
    Listener* listener_ = nullptr;
    UniqueFd socket_;
    std::string peer_;
    pthread_t thread_{};
    State state_ = State::kBusy;
    MonoTime since_{};       // in this state
    bool evicted_ = false;   // was shut down for a new connection
    bool finished_ = false;  // its thread needs nothing but to be joined
  };
  using Serve = std::function<void(Permit&)>;

  // `serve` runs on many threads at once; it returns soon after stop_fd() is readable.
  Listener(ListenerOptions options, Serve serve);
  ~Listener();  // stops
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // "HOST:PORT", "[::1]:PORT", ":PORT" (all addresses). kInvalid: no such form or address;
  // kTransient: it is taken.
  Result<Nothing> start(const std::string& address);
  // Accepts no more and waits until every connection's thread is done. What has not arrived half a
  // second later is not waited for, nor for a caller that has not taken its reply a second after
  // that. Idempotent, thread-safe.
  void stop();

  int port() const { return port_; }
  // Readable from the moment stop() is called.
  int stop_fd() const { return stop_.get(); }
  bool is_stopping() const { return stopping_; }
  // Nearly full: time to ask callers to close.
  bool is_above_high_watermark() const { return live_ > high_watermark_; }

 private:
  static void* accept_entry(void* listener);
  static void* serve_entry(void* permit);
  void accept_until_stopped();
  void accept_queued();
  bool is_anyone_queued() const;
  void wait_for_permit(std::optional<MonoTime>& deadline);
  // False if there is nobody to accept at the moment.
  bool accept_one();
  void wait_for_resources();
  // False if no permit is free.
  bool serve_with_permit(UniqueFd& socket, std::string peer);
  void refuse(UniqueFd socket);
  void forget_refused(MonoTime now);
  int accept_timeout();
  bool is_at_limit(const std::string& peer) const REQUIRES(mutex_);
  bool evict_one() REQUIRES(mutex_);
  bool evict_one_of(const std::string& peer) REQUIRES(mutex_);
  void evict(Permit& permit) REQUIRES(mutex_);
  void end_live(const Permit& permit) REQUIRES(mutex_);
  Permit* find_evictable(MonoTime now) REQUIRES(mutex_);
  Permit* find_oldest(Permit::State state, MonoTime since, const std::string* peer = nullptr)
      REQUIRES(mutex_);
  void finish(Permit& permit);
  void shut_down_after(std::chrono::milliseconds timeout, int how);
  bool all_finished() const REQUIRES(mutex_);
  void join_finished();
  void join_all();

  const std::size_t max_connections_;
  const std::size_t max_per_peer_;
  const std::size_t high_watermark_;
  const std::chrono::milliseconds queue_timeout_;
  const std::string full_;
  const Serve serve_;
  WakeFd stop_;
  std::atomic<bool> stopping_ = false;
  bool starved_ = false;  // the system had no descriptors or memory; only the accept thread's
  // Refused, and kept open for a moment so that they can read why; only the accept thread's.
  std::deque<std::pair<UniqueFd, MonoTime>> refused_;
  std::atomic<std::size_t> live_ = 0;  // connections that are neither evicted nor finished
  UniqueFd socket_;
  int port_ = 0;
  pthread_t accept_thread_{};
  bool started_ = false;
  Mutex stop_mutex_;  // one stop() at a time
  mutable Mutex mutex_;
  CondVar permit_changed_;  // one is idle or finished, or the listener stops
  std::list<Permit> permits_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::size_t> live_of_ GUARDED_BY(mutex_);  // as live_, by peer
};

}  // namespace nervex
