#include "kube/manager.h"

#include <utility>

#include "base/http/ops_routes.h"
#include "base/log.h"
#include "kube/config.h"
#include "kube/metrics.h"
#include "kube/model/server_version.h"

namespace nervex::kube {

std::unique_ptr<Manager> Manager::create(const std::string& name, const CommonFlags& flags,
                                         const LeaderFlags* leader, std::size_t connections) {
  std::unique_ptr<Manager> manager(new Manager(name, flags));
  auto config = load_config(flags.kubeconfig);
  if (!config) {
    fatal("read the connection to the API server", config.error());
    return nullptr;
  }
  config->connections = connections;
  manager->connect(*std::move(config), leader);
  return manager;
}

Manager::Manager(std::string name, CommonFlags flags)
    : name_(std::move(name)), flags_(std::move(flags)) {
  add_process_metrics(metrics_, program_version());
}

void Manager::connect(ConnectionConfig config, const LeaderFlags* leader) {
  const auto observer = request_observer(metrics_, config.url);
  connection_ = config;
  client_.emplace(config, name_, observer);
  caches_.emplace(*client_);
  if (leader == nullptr) return;
  lease_client_.emplace(lease_connection(std::move(config), *leader), name_ + "/leader-election",
                        observer);
  leadership_.emplace(*lease_client_, clock_, lease_options(*leader), [this] { stop_.fail(); });
  add_leader_metrics(metrics_, name_, *leadership_);
  health_.add_live("leader-election", [this] { return leadership_->check_live(); });
  health_.add_ready("leader-election", [this] { return leadership_->check_ready(); });
}

Client& Manager::add_client(std::chrono::milliseconds call_timeout, std::size_t connections) {
  ConnectionConfig config = *connection_;
  config.request_timeout = call_timeout;
  config.call_timeout = call_timeout;
  config.connections = connections;
  return more_clients_.emplace_back(config, name_, request_observer(metrics_, config.url));
}

void Manager::add_thread(std::function<void(const std::stop_token&)> body) {
  std::jthread& thread = threads_.emplace_back();
  add({[&thread, body = std::move(body)] { thread = std::jthread(body); },
       [&thread] { thread = std::jthread(); }});
}

void Manager::show_caches() {
  bool has_any = false;
  caches_->visit([&](const char* kind, std::function<std::size_t()> size) {
    add_cache_metrics(metrics_, kind, std::move(size));
    has_any = true;
  });
  if (!has_any) return;
  add_synced_metric(metrics_, [this] { return caches_->check_synced(); });
  health_.add_ready("caches", [this] { return caches_->check_current(); });
}

// An API server that does not answer is reported by the caches.
void Manager::report_server_version() {
  const auto reply = client_->send({"GET", "/version", "", ""});
  const auto version = reply ? decode_server_version(*reply) : Result<std::string>(reply.error());
  if (!version) return;
  log_info("API server found", {{"kubernetes", *version}});
  if (is_supported(*version)) return;
  log_warn("this Kubernetes is older than the suite supports",
           {{"kubernetes", *version}, {"oldest", "1." + std::to_string(kOldestMinor)}});
}

std::optional<int> Manager::start(HttpServer& ops) {
  caches_->start();  // from here on there are threads
  if (auto started = ops.start(); !started) return fatal("serve metrics", started.error());
  std::string port;
  for (HttpServer* server : servers_) {
    if (auto started = server->start(); !started) return fatal("serve", started.error());
    port = std::to_string(server->port());
  }
  if (leadership_) leadership_->start();
  for (const auto& runnable : runnables_) runnable.start();
  const std::string metrics_port = std::to_string(ops.port());
  if (port.empty()) {
    log_info(name_ + " started", {{"metrics_port", metrics_port}});
  } else {
    log_info(name_ + " started", {{"port", port}, {"metrics_port", metrics_port}});
  }
  return std::nullopt;
}

void Manager::stop(HttpServer& ops) {
  const Ending ending(flags_.shutdown_delay);
  health_.set_stopping();
  for (const auto& act : at_stop_) act();
  client_->end_calls_by(ending.calls_end());
  for (Client& client : more_clients_) client.end_calls_by(ending.calls_end());
  if (lease_client_) lease_client_->end_calls_by(ending.lease_calls_end());
  ending.linger();
  for (HttpServer* server : servers_) server->stop();
  for (const auto& runnable : runnables_) {
    if (runnable.stop) runnable.stop();  // before the lease is given back, because they write
  }
  ops.stop();
  if (leadership_) leadership_->release();
  caches_->stop();
}

int Manager::run() {
  show_caches();
  add_thread([this](const std::stop_token&) { report_server_version(); });
  HttpServer ops(ops_options(flags_.metrics_listen));
  add_ops_routes(ops, metrics_, health_);
  for (HttpServer* server : servers_) add_health_routes(*server, health_);
  if (const auto failed = start(ops)) {
    for (HttpServer* server : servers_) server->stop();
    ops.stop();
    caches_->stop();
    return *failed;
  }
  const int exit_code = stop_.wait();
  stop(ops);
  return exit_code;
}

}  // namespace nervex::kube
