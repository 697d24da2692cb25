// base/net/listener.h - who may connect, and which thread serves whom? One thread per connection.
//
// Each connection needs one of `max_connections` permits. Threads start on demand and end with
// their connection. Above the high watermark every new connection evicts the one that has been
// idle longest. When no permit is free and no connection is idle, the slowest sender is evicted.
// When all are busy, new connections stay in the system's queue for a moment (`queue_timeout`);
// then they are refused with an answer and closed, so that their callers can try another replica.
// One address cannot take all permits: above `max_per_peer` its new connections replace its own
// idle or slow ones, or are refused at once.
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
  std::size_t max_per_peer = 0;      // live connections of one address; 0: no separate limit
  int high_watermark_percent = 100;  // of max_connections
  std::chrono::milliseconds queue_timeout = std::chrono::seconds(1);
  std::string full{};  // answer to a connection refused for the limit; empty: none
};

class Listener {
 public:
  // An accepted connection's permit, with the state that its thread reports. Lives as long as
  // `serve` runs for it.
  class Permit {
   public:
    enum class State {
      kIdle,       // between requests: may be evicted for a new connection
      kReceiving,  // receiving a request or handshake: may be evicted if slow
      kBusy,       // handling the request or writing its reply
      kWaiting,  // a handler waits for requests of others: may lose its permit, not its connection
      kLeaving,  // the last reply is written: evicted first
    };
    // Connected and non-blocking. The listener closes it after `serve`.
    int socket() const { return socket_.get(); }
    const std::string& peer() const { return peer_; }  // the address, without the port
    void set_state(State state);
    // A new connection took its place: it should end soon.
    bool is_evicted() const;

   private:
    friend class Listener;
    Listener* listener_ = nullptr;
    UniqueFd socket_;
    std::string peer_;
    pthread_t thread_{};
    State state_ = State::kBusy;
    MonoTime since_{};       // in this state
    bool evicted_ = false;   // shut down for a new connection
    bool finished_ = false;  // its thread only needs to be joined
  };
  using Serve = std::function<void(Permit&)>;

  // `serve` runs on many threads at once; it returns soon after stop_fd() is readable.
  Listener(ListenerOptions options, Serve serve);
  ~Listener();  // stops
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // "HOST:PORT", "[::1]:PORT", ":PORT" (all addresses). kInvalid: not such a form or address;
  // kTransient: the address is in use.
  Result<Nothing> start(const std::string& address);
  // Stops accepting and waits until every connection's thread is done. Drops requests that have not
  // arrived after half a second, and then replies that the caller has not taken after another
  // second. Idempotent, thread-safe.
  void stop();

  int port() const { return port_; }
  // Readable once stop() is called.
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
  // False if no caller is waiting.
  bool accept_one();
  void wait_for_resources();
  // False if no permit is free.
  bool serve_with_permit(UniqueFd& socket, std::string peer);
  void refuse(UniqueFd socket);
  void forget_refused(MonoTime now);
  int accept_timeout();
  bool is_at_limit(const std::string& peer) const REQUIRES(mutex_);
  bool evict_one() REQUIRES(mutex_);
  bool evict_one_from(const std::string& peer) REQUIRES(mutex_);
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
  bool starved_ = false;  // out of descriptors or memory; only for the accept thread
  // Refused, and kept open briefly so that callers can read why; only for the accept thread.
  std::deque<std::pair<UniqueFd, MonoTime>> refused_;
  std::atomic<std::size_t> live_ = 0;  // connections neither evicted nor finished
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
