// kube/manager.h - what do all long-running programs share, and in which order do its parts start
// and stop? As controller-runtime's Manager.
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

// A part with its own threads.
struct Runnable {
  std::function<void()> start;
  std::function<void()> stop;  // returns when its threads have ended; may be empty
};

// Construct it first in main with create(), and call run() at its end. It borrows all arguments
// until run() returns; by then every thread has ended. Not thread-safe, unless a part promises it.
class Manager {
 public:
  // Blocks termination signals for this and all later threads, and reads the connection to the API
  // server. `name`: the program's, for requests, metrics and log lines. `leader`: election
  // settings; null: every replica works. `connections`: concurrent requests of client(); more
  // callers wait. Null if there is no connection, which is logged.
  static std::unique_ptr<Manager> create(const std::string& name, const CommonFlags& flags,
                                         const LeaderFlags* leader = nullptr,
                                         std::size_t connections = ConnectionConfig().connections);

  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }
  Health& health() { return health_; }
  Client& client() { return *client_; }
  // Another client of the same account, for calls with a waiting caller: each call ends after
  // `call_timeout`. `connections`: as in create(). Call it before run().
  Client& add_client(std::chrono::milliseconds call_timeout, std::size_t connections);
  // Only with `leader`. Losing leadership ends the program.
  Leadership& leadership() { return *leadership_; }
  Reflectors& caches() { return *caches_; }

  // Adds a server for the program's callers. run() adds its health routes and starts it.
  void add(HttpServer& server) { servers_.push_back(&server); }
  // Starts after all other parts, in the order added; stops in that order after the servers and
  // before the lease is given back.
  void add(Runnable runnable) { runnables_.push_back(std::move(runnable)); }
  // The same with one thread, which runs `body` and ends soon after a stop request.
  void add_thread(std::function<void(const std::stop_token&)> body);

  // Called first at shutdown: for work that would keep callers waiting.
  void at_stop(std::function<void()> act) { at_stop_.push_back(std::move(act)); }

  // Starts caches, probes, servers, election and runnables; waits for SIGTERM, SIGINT or a lost
  // lease; stops all of it within base/stop.h's limit. Returns the exit code.
  int run();

 private:
  Manager(std::string name, CommonFlags flags);
  void connect(ConnectionConfig config, const LeaderFlags* leader);
  void show_caches();
  void report_server_version();
  std::optional<int> start(HttpServer& ops);  // exit code of a failure, which is logged
  void stop(HttpServer& ops);

  StopSignal stop_;  // before any part that may start threads
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
