// kube/manager.h - what every long-running program has, and in which order it starts and stops; as
// controller-runtime's Manager.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/health.h"
#include "base/http/server.h"
#include "base/metrics.h"
#include "base/program.h"
#include "base/stop.h"
#include "kube/cache/reflectors.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/leader/flags.h"
#include "kube/leader/leadership.h"

namespace nervex::kube {

// Something with threads of its own.
struct Runnable {
  std::function<void()> start;
  std::function<void()> stop;  // returns when they have ended; may be empty
};

// Construct it first in main, by create(), and call run() at its end: all that is given to it is
// borrowed until run() returns, by when every thread has ended. Not thread-safe but for what its
// parts promise.
class Manager {
 public:
  // Blocks the signals that end a program, for this and all later threads, and reads the connection
  // to the API server. `name` is the program's: of its requests, metrics and log lines. `leader`:
  // how to elect one; null: every replica works. `connections`: requests of client() that may be
  // under way at once; more callers wait. Null if there is no connection, which is logged.
  static std::unique_ptr<Manager> create(const std::string& name, const CommonFlags& flags,
                                         const LeaderFlags* leader = nullptr,
                                         std::size_t connections = ConnectionConfig().connections);

  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }
  Health& health() { return health_; }
  Client& client() { return *client_; }
  // One more of the same account, for calls that somebody waits for: each ends after
  // `call_timeout`, whatever it waits for. `connections`: as in create(). Before run() only.
  Client& add_client(std::chrono::milliseconds call_timeout, std::size_t connections);
  // Only of a manager with `leader`. Losing it ends the program.
  Leadership& leadership() { return *leadership_; }
  Reflectors& caches() { return *caches_; }

  // For callers of the program. Served as long as it runs, probes included.
  void add(HttpServer& server) { servers_.push_back(&server); }
  // Starts after everything else, in the order given; stops after the servers, in that order, and
  // before the lease is given back.
  void add(Runnable runnable) { runnables_.push_back(std::move(runnable)); }
  // The same with one thread, which runs `body` and ends soon after a stop was requested.
  void add_thread(std::function<void(const std::stop_token&)> body);

  // Called when the program was told to end, before anything else is: for what would keep callers
  // waiting.
  void at_stop(std::function<void()> act) { at_stop_.push_back(std::move(act)); }

  // Starts caches, probes, servers, election and runnables; waits for SIGTERM, SIGINT or a lost
  // lease; stops all of it within base/stop.h's limit. Returns the exit code.
  int run();

 private:
  Manager(std::string name, CommonFlags flags);
  void connect(ConnectionConfig config, const LeaderFlags* leader);
  void show_caches();
  std::optional<int> start(HttpServer& ops);  // an exit code: it failed, and that is logged
  void stop(HttpServer& ops);

  StopSignal stop_;  // before all that may start threads
  const std::string name_;
  const CommonFlags flags_;
  const SystemClock clock_;
  Metrics metrics_;
  Health health_;
  std::optional<ConnectionConfig> connection_;
  std::optional<Client> client_;
  std::deque<Client> more_clients_;
  std::optional<Client> lease_client_;
  std::optional<Leadership> leadership_;
  std::optional<Reflectors> caches_;
  std::vector<HttpServer*> servers_;
  std::vector<Runnable> runnables_;
  std::vector<std::function<void()>> at_stop_;
  std::deque<std::jthread> threads_;  // of add_thread(), which keeps references to them
};

}  // namespace nervex::kube
