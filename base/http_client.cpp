#include "base/http_client.h"

#include <algorithm>
#include <regex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <httplib.h>

#include "base/clock.h"
#include "base/dial.h"
#include "base/http_head.h"
#include "base/http_stream.h"
#include "base/line_framer.h"
#include "base/mutex.h"
#include "base/tls.h"

namespace nervex {

namespace {

using std::chrono::seconds;
using HttpStream = ConnectionStream<httplib::Stream>;

constexpr std::size_t kMaxLineBytes = 8 << 20;
constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 30;  // a list of all pods is large
constexpr std::size_t kMaxErrorBytes = 1 << 20;               // of a stream's reply that is none
// A server that sends a byte now and then may not hold a caller for ever.
constexpr int kPatiencePerReply = 20;

std::string lower(std::string text) {
  for (char& c : text) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// httplib asks the server for leave ("Expect: 100-continue") before it sends a body of 1 kB or
// more, which costs a round trip, or a second where the server does not know that. It does not if
// there is a header of that name, so there is one, and here it is left out.
ssize_t write_headers(httplib::Stream& stream, const httplib::Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers) {
    if (name != "Expect") text += fmt::format("{}: {}\r\n", name, value);
  }
  text += "\r\n";
  return stream.write(text.data(), text.size());
}

// One request and its reply. A client of httplib that never connects: only its writing and reading
// of HTTP is used, on a connection of ours.
class Exchange : private httplib::ClientImpl {
 public:
  explicit Exchange(const HostPort& address) : ClientImpl(address.host, address.port) {
    set_path_encode(false);  // callers encode what they must
    set_decompress(false);
    set_header_writer(write_headers);
    set_header("Host", to_string(address));
    set_header("Expect", "");
    // Cheaper than compressing on one side and decompressing on the other.
    set_header("Accept-Encoding", "identity");
    set_header("User-Agent", "nervex");
  }

  httplib::Request& request() { return request_; }
  const httplib::Response& response() const { return response_; }

  void set_headers(const std::map<std::string, std::string>& headers) {
    for (const auto& [name, value] : headers) set_header(name, value);
  }

  void set_header(const std::string& name, const std::string& value) {
    request_.headers.erase(name);
    request_.headers.emplace(name, value);
  }

  // For replies that are kept whole; a stream has no end.
  void limit_reply() { set_payload_max_length(kMaxReplyBytes); }

  // False: no complete reply.
  bool run(Connection& connection) {
    HttpStream stream(connection);
    httplib::Error error = httplib::Error::Success;
    try {
      return process_request(stream, request_, response_, false, error);
    } catch (const std::regex_error&) {  // httplib's reading of a status line, if it is absurd
      return false;
    }
  }

  // Why run() failed.
  Error failure(const std::string& url, const Connection& connection) const {
    const std::string path = request_.path.substr(0, request_.path.find('?'));
    const bool broken = connection.failed_by() != Connection::Failure::kNone;
    const std::string why = broken ? connection.why() : "the reply is not understood or too large";
    return Error{Code::kTransient, fmt::format("{} {}{}: {}", request_.method, url, path, why)};
  }

  // Whether the reply said where it ends, and that another may follow.
  bool leaves_reusable() const {
    const std::string connection = lower(response_.get_header_value("Connection"));
    const bool bodiless =
        request_.method == "HEAD" || response_.status == 204 || response_.status == 304;
    const bool framed = response_.has_header("Content-Length") ||
                        lower(response_.get_header_value("Transfer-Encoding")) == "chunked";
    return response_.version == "HTTP/1.1" && connection.find("close") == std::string::npos &&
           (bodiless || framed);
  }

  HttpResponse take_reply() {
    HttpResponse reply{response_.status, {}, std::move(response_.body)};
    for (const auto& [name, value] : response_.headers) reply.headers.emplace(lower(name), value);
    return reply;
  }

 private:
  httplib::Request request_;
  httplib::Response response_;
};

// Anything else could end the request's head and begin one that nobody meant to send.
Result<Nothing> check_request(const std::string& method, const std::string& target,
                              const std::map<std::string, std::string>& headers) {
  const auto is_plain = [](char c) { return '!' <= c && c <= '~'; };
  if (!is_http_token(method)) return Error{Code::kInvalid, "not a method: " + method};
  if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_plain)) {
    return Error{Code::kInvalid, fmt::format("not a path to request: \"{}\"", target)};
  }
  for (const auto& [name, value] : headers) {
    if (is_http_token(name) && is_http_value(value)) continue;
    return Error{Code::kInvalid, fmt::format("header {} cannot be sent", name)};
  }
  return ok();
}

using Dialed = std::unique_ptr<DialedConnection>;

// A bounded number of connections to one server; callers beyond that wait for one.
class Pool {
 public:
  explicit Pool(std::size_t size) : free_places_(std::max<std::size_t>(size, 1)) {}

  // Waits for a place, then hands out the connection used last, if one is kept: the others may
  // then grow old enough for the server to close them. Null: the caller dials.
  Dialed take() {
    MutexLock lock(mutex_);
    while (free_places_ == 0) freed_.wait(mutex_);
    --free_places_;
    if (kept_.empty()) return nullptr;
    Dialed connection = std::move(kept_.back());
    kept_.pop_back();
    return connection;
  }

  // Ends what take() began; null if the connection cannot be used again.
  void give_back(Dialed connection) {
    {
      const MutexLock lock(mutex_);
      ++free_places_;
      if (connection) kept_.push_back(std::move(connection));
    }
    freed_.notify_one();
  }

 private:
  Mutex mutex_;
  CondVar freed_;
  std::size_t free_places_ GUARDED_BY(mutex_);
  std::vector<Dialed> kept_ GUARDED_BY(mutex_);
};

// A place in the pool for the length of a scope.
class Lease {
 public:
  explicit Lease(Pool& pool) : pool_(pool), kept_(pool.take()) {}
  ~Lease() { pool_.give_back(std::move(kept_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // A kept connection, if there is one that can still be used.
  Dialed take_fresh() {
    Dialed taken = std::move(kept_);
    return taken && taken->connection.is_fresh() ? std::move(taken) : nullptr;
  }
  // For the next caller. What is not kept is closed.
  void keep(Dialed connection) { kept_ = std::move(connection); }

 private:
  Pool& pool_;
  Dialed kept_;
};

// Decides what the bytes of a stream's reply are for.
class StreamReader {
 public:
  StreamReader(const LineFramer::OnLine& on_line, const std::stop_token& stop)
      : on_line_(on_line), stop_(stop) {}

  void see_status(int status) { status_ = status; }

  // False: no more is wanted.
  bool take(std::string_view bytes) {
    if (stop_.stop_requested()) return false;
    if (status_ != 200) {
      error_body_ += bytes.substr(0, kMaxErrorBytes - error_body_.size());
      return error_body_.size() < kMaxErrorBytes;
    }
    last_ = framer_.feed(bytes, on_line_);
    return last_ == LineFramer::Status::kMore;
  }

  // The reply is complete: what has no newline behind it was a line, too.
  void finish() {
    if (status_ == 200 && last_ == LineFramer::Status::kMore && !framer_.rest().empty()) {
      on_line_(framer_.rest());
    }
  }

  bool line_too_long() const { return last_ == LineFramer::Status::kTooLong; }
  // The caller wanted no more, one way or the other.
  bool was_ended() const {
    return last_ == LineFramer::Status::kStopped || error_body_.size() == kMaxErrorBytes;
  }
  HttpResponse reply(HttpResponse base) {
    base.body = std::move(error_body_);
    return base;
  }

 private:
  const LineFramer::OnLine& on_line_;
  const std::stop_token& stop_;
  LineFramer framer_{kMaxLineBytes};
  LineFramer::Status last_ = LineFramer::Status::kMore;
  int status_ = 0;
  std::string error_body_;
};

}  // namespace

struct HttpClient::Impl {
  explicit Impl(HttpClientOptions given) : options(std::move(given)), pool(options.pool_size) {
    problem = prepare();
  }

  // What is wrong with the options, if anything. Told to every caller, for a constructor cannot.
  std::optional<Error> prepare() {
    const auto url = parse_server_url(options.url);
    if (!url) return url.error();
    plan.address = url->address;
    if (!url->tls) return std::nullopt;
    plan.server_name = options.server_name.empty() ? url->address.host : options.server_name;
    TlsIdentity identity;
    identity.cert_name = "client certificate";
    identity.cert = options.client_cert;
    identity.key_name = "client key";
    identity.key = options.client_key;
    auto tls = client_tls_context(options.ca, identity);
    if (!tls) return with_context(options.url, tls.error());
    if (!connecting_session(*tls, plan.server_name)) {
      return Error{Code::kInvalid, fmt::format("{}: \"{}\" can be no server's name", options.url,
                                               plan.server_name)};
    }
    plan.tls = *std::move(tls);
    return std::nullopt;
  }

  Result<Dialed> connect(int wake_fd) const {
    return dial(plan, SystemClock().mono() + options.connect_timeout, wake_fd);
  }

  HttpClientOptions options;
  DialPlan plan;
  std::optional<Error> problem;
  Pool pool;
};

HttpClient::HttpClient(HttpClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::send(const std::string& method, const std::string& path_and_query,
                                      const std::map<std::string, std::string>& headers,
                                      const std::string& body, const std::string& content_type) {
  if (impl_->problem) return *impl_->problem;
  auto all_headers = headers;
  if (!content_type.empty()) all_headers.emplace("Content-Type", content_type);
  if (auto checked = check_request(method, path_and_query, all_headers); !checked) {
    return checked.error();
  }

  Exchange exchange(impl_->plan.address);
  httplib::Request& request = exchange.request();
  request.method = method;
  request.path = path_and_query;
  request.body = body;
  exchange.set_headers(all_headers);
  exchange.limit_reply();

  Lease lease(impl_->pool);
  Dialed dialed = lease.take_fresh();
  if (!dialed) {
    auto fresh = impl_->connect(-1);
    if (!fresh) return with_context(method + " " + impl_->options.url, fresh.error());
    dialed = *std::move(fresh);
  }
  Connection& connection = dialed->connection;
  connection.set_patience(impl_->options.read_timeout);
  connection.set_deadline(SystemClock().mono() + impl_->options.read_timeout * kPatiencePerReply);
  if (!exchange.run(connection)) return exchange.failure(impl_->options.url, connection);
  if (exchange.leaves_reusable()) lease.keep(std::move(dialed));
  return exchange.take_reply();
}

Result<HttpResponse> HttpClient::stream(const std::string& path_and_query,
                                        const std::map<std::string, std::string>& headers,
                                        std::chrono::seconds silence,
                                        const std::function<bool(std::string_view line)>& on_line,
                                        const std::stop_token& stop) {
  if (impl_->problem) return *impl_->problem;
  if (auto checked = check_request("GET", path_and_query, headers); !checked) {
    return checked.error();
  }
  const WakeFd wake;
  const std::stop_callback on_stop(stop, [&wake] { wake.set(); });
  auto dialed = impl_->connect(wake.get());
  if (!dialed) return with_context("GET " + impl_->options.url, dialed.error());
  Connection& connection = (*dialed)->connection;
  connection.set_patience(silence);
  connection.set_deadline(MonoTime::max());

  StreamReader reader(on_line, stop);
  Exchange exchange(impl_->plan.address);
  httplib::Request& request = exchange.request();
  request.method = "GET";
  request.path = path_and_query;
  exchange.set_headers(headers);
  request.response_handler = [&reader](const httplib::Response& response) {
    reader.see_status(response.status);
    return true;
  };
  request.content_receiver = [&reader](const char* bytes, std::size_t size, std::size_t,
                                       std::size_t) {
    return reader.take(std::string_view(bytes, size));
  };

  const bool complete = exchange.run(connection);
  if (reader.line_too_long()) {
    return Error{Code::kTransient, fmt::format("GET {}: a line is longer than {} bytes",
                                               impl_->options.url, kMaxLineBytes)};
  }
  if (complete) reader.finish();
  const bool answered = exchange.response().status > 0;
  const bool silent = connection.failed_by() == Connection::Failure::kTimeout;
  const bool wanted = complete || reader.was_ended() || stop.stop_requested() || silent;
  if (!answered || !wanted) return exchange.failure(impl_->options.url, connection);
  return reader.reply(exchange.take_reply());
}

}  // namespace nervex
