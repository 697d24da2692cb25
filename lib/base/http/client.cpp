#include "base/http/client.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/http/exchange.h"
#include "base/mutex.h"
#include "base/net/connection.h"
#include "base/tls/tls.h"

namespace nervex {

using Dialed = std::unique_ptr<DialedConnection>;

namespace {

// A bounded number of connections to one server; more callers wait for one. Thread-safe.
class ConnectionPool {
 public:
  explicit ConnectionPool(std::size_t size) : free_permits_(std::max<std::size_t>(size, 1)) {}

  // A permit of the pool for a scope. Waits for it until `limit` or `deadline`.
  class Checkout {
   public:
    Checkout(ConnectionPool& pool, const CallLimit& limit, MonoTime deadline);
    ~Checkout();
    Checkout(const Checkout&) = delete;
    Checkout& operator=(const Checkout&) = delete;

    // False: the limit or the deadline came first.
    bool has_permit() const { return has_permit_; }
    // A kept connection that is still usable, if any: after a server restart all of them are dead,
    // and callers must not detect that by losing requests.
    Dialed take_fresh();
    // For the next caller. Connections that are not kept are closed.
    void keep(Dialed connection) { kept_ = std::move(connection); }

   private:
    ConnectionPool& pool_;
    std::uint64_t generation_ = 0;
    bool has_permit_;
    Dialed kept_;
  };

  // Wakes callers that wait for a permit, to check their limit again.
  void wake_waiting();
  // Closes kept connections; those in use are closed when they come back.
  void close_all();

 private:
  bool wait_for_permit(const CallLimit& limit, MonoTime deadline, std::uint64_t& generation);
  Dialed take_kept();
  void give_back(Dialed connection, std::uint64_t generation);

  Mutex mutex_;
  CondVar freed_;
  std::size_t free_permits_ GUARDED_BY(mutex_);
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;  // incremented by close_all()
  std::vector<Dialed> kept_ GUARDED_BY(mutex_);
};

ConnectionPool::Checkout::Checkout(ConnectionPool& pool, const CallLimit& limit, MonoTime deadline)
    : pool_(pool), has_permit_(pool.wait_for_permit(limit, deadline, generation_)) {}

ConnectionPool::Checkout::~Checkout() {
  if (has_permit_) pool_.give_back(std::move(kept_), generation_);
}

Dialed ConnectionPool::Checkout::take_fresh() {
  while (Dialed taken = pool_.take_kept()) {
    if (taken->connection.is_fresh()) return taken;
  }
  return nullptr;
}

bool ConnectionPool::wait_for_permit(const CallLimit& limit, MonoTime deadline,
                                     std::uint64_t& generation) {
  MutexLock lock(mutex_);
  while (free_permits_ == 0) {
    if (limit.is_over() || SystemClock().mono() >= deadline) return false;
    freed_.wait_until(mutex_, std::min(limit.time(), deadline));
  }
  --free_permits_;
  generation = generation_;
  return true;
}

// The one used last, so that the others may grow old enough for the server to close them.
Dialed ConnectionPool::take_kept() {
  const MutexLock lock(mutex_);
  if (kept_.empty()) return nullptr;
  Dialed connection = std::move(kept_.back());
  kept_.pop_back();
  return connection;
}

void ConnectionPool::give_back(Dialed connection, std::uint64_t generation) {
  {
    const MutexLock lock(mutex_);
    ++free_permits_;
    if (connection && generation == generation_) kept_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

void ConnectionPool::wake_waiting() {
  // Under the lock, so that no waiter misses this between checking the limit and waiting.
  const MutexLock lock(mutex_);
  freed_.notify_all();
}

void ConnectionPool::close_all() {
  std::vector<Dialed> closed;  // after the lock is released
  const MutexLock lock(mutex_);
  ++generation_;
  closed.swap(kept_);
}

// How connections are currently made, or why they cannot be.
struct Setup {
  DialPlan plan;
  std::optional<Error> problem;
};

// "%40" becomes "@". Other text stays.
std::string decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i] + 3, value, 16).ptr == &text[i] + 3;
    decoded += is_escape ? static_cast<char>(value) : text[i];
    if (is_escape) i += 2;
  }
  return decoded;
}

Result<TunnelProxy> parse_proxy(const std::string& text) {
  constexpr std::string_view kScheme = "http://";
  std::string url = text;
  TunnelProxy proxy;
  const auto at = url.rfind('@');
  if (url.starts_with(kScheme) && at != std::string::npos) {
    proxy.credentials = decode_percent(url.substr(kScheme.size(), at - kScheme.size()));
    url.erase(kScheme.size(), at + 1 - kScheme.size());
  }
  const auto parsed = parse_server_url(url);
  if (!parsed) return with_context("proxy", parsed.error());
  if (parsed->tls) return Error{Code::kInvalid, "proxy: only http:// is supported"};
  proxy.address = parsed->address;
  return proxy;
}

Result<DialPlan> plan_for(const HttpClientOptions& options, const HttpCredentials& credentials) {
  const auto url = parse_server_url(options.url);
  if (!url) return url.error();
  DialPlan plan;
  plan.address = url->address;
  if (!options.proxy.empty()) {
    auto proxy = parse_proxy(options.proxy);
    if (!proxy) return proxy.error();
    plan.proxy = *std::move(proxy);
  }
  if (!url->tls) return plan;
  plan.server_name = options.server_name.empty() ? url->address.host : options.server_name;
  TlsIdentity identity;
  identity.cert_name = "client certificate";
  identity.cert = credentials.client_cert;
  identity.key_name = "client key";
  identity.key = credentials.client_key;
  auto tls = options.accepts_any_certificate ? unverified_tls_context(identity)
                                             : client_tls_context(credentials.ca, identity);
  if (!tls) return with_context(options.url, tls.error());
  if (!connecting_session(*tls, plan.server_name)) {
    return Error{Code::kInvalid, fmt::format("{}: \"{}\" is not a valid server name", options.url,
                                             plan.server_name)};
  }
  plan.tls = *std::move(tls);
  return plan;
}

}  // namespace

struct HttpClient::Impl {
  explicit Impl(HttpClientOptions given) : options(std::move(given)), pool(options.pool_size) {
    auto plan = plan_for(options, {options.ca, options.client_cert, options.client_key});
    // Every call returns this error, since a constructor cannot.
    if (plan) {
      setup.plan = *std::move(plan);
    } else {
      setup.problem = plan.error();
    }
  }

  Setup current() {
    const MutexLock lock(mutex);
    return setup;
  }

  Result<Nothing> set_credentials(const HttpCredentials& credentials) {
    auto plan = plan_for(options, credentials);
    if (!plan) return plan.error();
    {
      const MutexLock lock(mutex);
      setup = Setup{*std::move(plan), std::nullopt};
    }
    pool.close_all();
    return ok();
  }

  // "GET https://host:1/path: timed out". Omits the query, which may be long and is not for logs.
  Error failure(const HttpExchange& exchange, const std::string& why) const {
    const std::string path = exchange.target.substr(0, exchange.target.find('?'));
    return Error{Code::kTransient, fmt::format("{} {}{}: {}", exchange.method, options.url, path,
                                               limit.is_over() ? "the program is stopping" : why)};
  }

  Result<Dialed> connect(const HttpExchange& exchange, const DialPlan& plan, int wake_fd,
                         MonoTime until) const {
    if (limit.is_over()) return failure(exchange, "");
    auto dialed =
        dial(plan, std::min(SystemClock().mono() + options.connect_timeout, until), wake_fd);
    if (dialed) return dialed;
    if (limit.is_over()) return failure(exchange, "");
    return with_context(exchange.method + " " + options.url, dialed.error());
  }

  Result<HttpResponse> send(const HttpExchange& exchange,
                            const std::function<Result<Nothing>()>& before_sending, MonoTime until);

  // Those of one request and of all.
  std::multimap<std::string, std::string> all_headers(
      const std::map<std::string, std::string>& headers) const {
    std::multimap<std::string, std::string> all(headers.begin(), headers.end());
    all.insert(options.headers.begin(), options.headers.end());
    return all;
  }

  const HttpClientOptions options;
  Mutex mutex;
  Setup setup GUARDED_BY(mutex);
  CallLimit limit;
  ConnectionPool pool;
};

Result<HttpResponse> HttpClient::Impl::send(const HttpExchange& exchange,
                                            const std::function<Result<Nothing>()>& before_sending,
                                            MonoTime until) {
  ConnectionPool::Checkout checkout(pool, limit,
                                    std::min(SystemClock().mono() + options.read_timeout, until));
  if (!checkout.has_permit() || limit.is_over()) {
    return failure(exchange, "not sent: all connections were busy until the timeout");
  }
  // After taking the permit: a connection made with credentials that are replaced meanwhile is not
  // kept.
  const auto [plan, problem] = current();
  if (problem) return *problem;
  Dialed dialed = checkout.take_fresh();
  const bool was_kept = dialed != nullptr;
  if (!dialed) {
    auto fresh = connect(exchange, plan, limit.fd(), until);
    if (!fresh) return fresh.error();
    dialed = *std::move(fresh);
  }
  if (before_sending) {
    if (auto may = before_sending(); !may) return may.error();
  }
  Connection& connection = dialed->connection;
  connection.set_deadline(std::min(SystemClock().mono() + options.total_timeout, until));
  HttpOutcome outcome = run_exchange(exchange, plan.address, connection, limit);
  if (!outcome.complete) {
    // The other kept connections are older and lead to the same server: if they are half open too,
    // each would cost a caller the whole timeout.
    if (was_kept) pool.close_all();
    return failure(exchange, outcome.why);
  }
  if (outcome.reusable) checkout.keep(std::move(dialed));
  return std::move(outcome.reply);
}

HttpClient::HttpClient(HttpClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpClient::~HttpClient() = default;

void HttpClient::end_calls_by(MonoTime time) {
  impl_->limit.set(time);
  impl_->pool.wake_waiting();
}

Result<Nothing> HttpClient::set_credentials(const HttpCredentials& credentials) {
  return impl_->set_credentials(credentials);
}

const CallLimit& HttpClient::call_limit() const { return impl_->limit; }

Result<HttpResponse> HttpClient::send(const std::string& method, const std::string& path_and_query,
                                      const std::map<std::string, std::string>& headers,
                                      const std::string& body, const std::string& content_type,
                                      const std::function<Result<Nothing>()>& before_sending,
                                      MonoTime until) {
  HttpExchange exchange{method,
                        path_and_query,
                        impl_->all_headers(headers),
                        body,
                        impl_->options.read_timeout,
                        impl_->options.write_timeout};
  if (!content_type.empty()) exchange.headers.emplace("Content-Type", content_type);
  if (auto checked = check_exchange(exchange); !checked) return checked.error();
  return impl_->send(exchange, before_sending, until);
}

Result<HttpResponse> HttpClient::stream(
    const std::string& path_and_query, const std::map<std::string, std::string>& headers,
    std::chrono::seconds silence, const std::function<bool(std::string_view line)>& on_line,
    const std::stop_token& stop,
    const std::function<void(int status, std::string_view content_type)>& on_head) {
  HttpExchange exchange{"GET", path_and_query, impl_->all_headers(headers),
                        "",    silence,        impl_->options.write_timeout};
  if (auto checked = check_exchange(exchange); !checked) return checked.error();
  const auto [plan, problem] = impl_->current();
  if (problem) return *problem;
  const WakeFd stopped;
  const std::stop_callback on_stop(stop, [&stopped] { stopped.set(); });
  const EitherFd wake(stopped.get(), impl_->limit.fd());
  auto dialed = impl_->connect(exchange, plan, wake.get(), MonoTime::max());
  if (!dialed) return dialed.error();
  Connection& connection = (*dialed)->connection;
  connection.set_deadline(MonoTime::max());

  StreamReader reader(on_line, stop);
  exchange.on_head = [&](int status, std::string_view content_type) {
    reader.see_head(status, content_type);
    if (on_head) on_head(status, content_type);
  };
  exchange.on_bytes = [&reader](std::string_view bytes) { return reader.take(bytes); };
  HttpOutcome outcome = run_exchange(exchange, plan.address, connection, impl_->limit);
  if (reader.line_too_long()) {
    return impl_->failure(
        exchange, fmt::format("a line is longer than {} bytes", StreamReader::kMaxLineBytes));
  }
  if (outcome.complete) reader.finish();
  const bool silent = connection.failed_by() == Connection::Failure::kTimeout;
  const bool wanted = outcome.complete || reader.was_ended() || stop.stop_requested() || silent;
  if (outcome.reply.status == 0 || !wanted) return impl_->failure(exchange, outcome.why);
  outcome.reply.body = reader.take_error_body();
  return std::move(outcome.reply);
}

}  // namespace nervex
