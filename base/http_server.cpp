#include "base/http_server.h"

#include <exception>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/connection.h"
#include "base/http_head.h"
#include "base/http_stream.h"
#include "base/listener.h"
#include "base/log.h"
#include "base/tls.h"

namespace nervex {

namespace {

using std::chrono::seconds;
using HttpStream = ConnectionStream<httplib::Stream>;

constexpr seconds kWriteTimeout{30};  // a caller that does not read its reply is dropped after this
constexpr seconds kLingerTimeout{1};

// httplib chooses a handler by regular expression; every request is given this path instead, and
// finds its handler in our own table.
constexpr const char* kAnyPath = "/";

HttpHeadLimits limits_of(const HttpServerOptions& options) {
  HttpHeadLimits limits;
  limits.max_body_bytes = options.max_body_bytes;
  limits.allow_chunked_bodies = options.allow_chunked_bodies;
  return limits;
}

std::string error_body(std::string_view reason) {
  return nlohmann::json{{"error", reason}}.dump(-1, ' ', true,
                                                nlohmann::json::error_handler_t::replace);
}

bool wants_close(const HttpHead& head) {
  return head.http_1_0 || head.has_word("connection", "close");
}

// The last word to a caller whose request does not get as far as httplib.
std::string refusal_text(const HttpRefusal& refusal) {
  const std::string body = error_body(refusal.reason);
  return fmt::format(
      "HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      refusal.status, httplib::status_message(refusal.status), body.size(), body);
}

// All headers by name, of repeats the first.
std::map<std::string, std::string> headers_of(const HttpHead& head) {
  return {head.headers.begin(), head.headers.end()};
}

// What the threads of a server share. Read-only while they run.
struct Site {
  explicit Site(HttpServerOptions given) : options(std::move(given)), limits(limits_of(options)) {}

  HttpServerOptions options;
  HttpHeadLimits limits;
  std::map<std::string, HttpHandler, std::less<>> handlers;
  HttpHandler rest = [](const HttpRequest&) { return HttpReply{404, "{}"}; };
  TlsContext tls;  // null: plain HTTP

  const HttpHandler& handler_of(const std::string& path) const {
    const auto found = handlers.find(path);
    return found == handlers.end() ? rest : found->second;
  }

  // A handler that throws costs its caller a reply without reason; the reason is in the log.
  HttpReply answer(const HttpRequest& request) const {
    std::string problem;
    try {
      return handler_of(request.path)(request);
    } catch (const std::exception& e) {
      problem = e.what();
    } catch (...) {
      problem = "not an exception";
    }
    log_error("http handler failed",
              {{"method", request.method}, {"path", request.path}, {"error", problem}});
    return options.internal_error;
  }
};

// The requests of one connection, one after the other. A server of httplib that never listens: only
// its reading and writing of HTTP is used, and its hooks know this connection by `this`.
class Conversation : private httplib::Server {
 public:
  Conversation(const Site& site, const Listener& listener, Listener::Place& place,
               Connection& connection);

  // Until one side ends it.
  void hold();

 private:
  bool wait_for_request();
  bool take_request();
  std::variant<HttpHead, HttpRefusal> read_head();
  void refuse(const HttpRefusal& refusal);
  void linger();
  void prepare(httplib::Request& request);
  void answer(const httplib::Request& request, httplib::Response& response);
  void explain_error(httplib::Response& response) const;
  void finish_reply(httplib::Response& response);

  void set_deadline_in(seconds time) { connection_.set_deadline(SystemClock().mono() + time); }

  const Site& site_;
  const Listener& listener_;
  Listener::Place& place_;
  Connection& connection_;
  HttpStream stream_;
  // Of the request under way:
  HttpHead head_;
  HttpRequest request_;
  bool answered_ = false;  // by a handler of ours, after the whole request was read
  bool closing_ = false;   // the reply tells the caller so
};

Conversation::Conversation(const Site& site, const Listener& listener, Listener::Place& place,
                           Connection& connection)
    : site_(site),
      listener_(listener),
      place_(place),
      connection_(connection),
      stream_(connection) {
  set_payload_max_length(site.options.max_body_bytes);
  const auto handler = [this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response);
  };
  Get(kAnyPath, handler);  // HEAD, too
  Post(kAnyPath, handler);
  set_exception_handler([](const auto&, httplib::Response& response, const std::exception_ptr&) {
    response.status = 500;  // nobody's code but httplib's: no memory
  });
  set_error_handler(
      [this](const httplib::Request&, httplib::Response& response) { explain_error(response); });
  set_post_routing_handler(
      [this](const httplib::Request&, httplib::Response& response) { finish_reply(response); });
}

void Conversation::hold() {
  set_deadline_in(site_.options.read_timeout);
  if (!connection_.handshake()) return;
  while (wait_for_request() && take_request()) {
  }
  connection_.close_politely();
  if (closing_) linger();
}

// Idle: only here may the connection be taken down to make room or because the server stops.
bool Conversation::wait_for_request() {
  if (!connection_.buffered().empty()) return true;  // the caller sends ahead
  place_.set_idle(true);
  set_deadline_in(site_.options.idle_timeout);
  connection_.set_wake_fd(listener_.stop_fd());
  const bool came = connection_.wait_readable();
  connection_.set_wake_fd(-1);
  place_.set_idle(false);
  return came;
}

// False: the connection is at its end.
bool Conversation::take_request() {
  set_deadline_in(site_.options.read_timeout);
  closing_ = false;
  if (connection_.buffered().empty() && !connection_.fill()) return false;  // closed while idle
  auto head = read_head();
  if (const auto* refusal = std::get_if<HttpRefusal>(&head)) {
    refuse(*refusal);
    return false;
  }
  head_ = std::get<HttpHead>(std::move(head));
  request_ = {};
  answered_ = false;
  bool closed = false;
  const bool written = process_request(stream_, place_.peer(), 0, "", 0, false, closed,
                                       [this](httplib::Request& request) { prepare(request); });
  return written && !closed && !closing_;
}

// Leaves the head in the buffer, where httplib will read it once more.
std::variant<HttpHead, HttpRefusal> Conversation::read_head() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  for (;;) {
    const std::string_view seen = connection_.buffered();
    const std::size_t end = seen.find(kEnd);
    if (end <= site_.limits.max_head_bytes - kEnd.size()) {
      return read_http_head(seen.substr(0, end + kEnd.size()), site_.limits);
    }
    if (seen.size() >= site_.limits.max_head_bytes) {
      // Without a line end in all of this it is the URI that is too long.
      return seen.find('\n') == std::string_view::npos ? HttpRefusal{414, "the URI is too long"}
                                                       : HttpRefusal{431, "the head is too large"};
    }
    // Every method begins with a letter; what begins a TLS handshake does not, and never ends.
    if (!seen.empty() && (seen[0] < 'A' || seen[0] > 'Z')) {
      return HttpRefusal{400, "this is not HTTP"};
    }
    if (!connection_.fill()) return HttpRefusal{408, "the request did not arrive"};
  }
}

void Conversation::refuse(const HttpRefusal& refusal) {
  log_debug("request refused", {{"peer", place_.peer()},
                                {"status", std::to_string(refusal.status)},
                                {"reason", refusal.reason}});
  set_deadline_in(kWriteTimeout);
  closing_ = connection_.write(refusal_text(refusal));
}

// Closing while the caller still sends makes the caller's system drop our last reply. So, after
// having said that nothing more comes, read on for a moment until the caller has understood.
void Conversation::linger() {
  connection_.set_wake_fd(listener_.stop_fd());
  set_deadline_in(kLingerTimeout);
  std::string unread(16'384, '\0');
  while (connection_.wait_readable() && connection_.read(unread.data(), unread.size()) > 0) {
  }
}

// Between reading the head and reading the body: takes what handlers need out of httplib's
// request, and what httplib would act upon, for every body is just bytes to us.
void Conversation::prepare(httplib::Request& request) {
  // httplib waits for a body, and without a length for the connection's end, by the method.
  const bool has_body = head_.find("content-length") || head_.find("transfer-encoding");
  request_.method = head_.method;
  if (request.method != "HEAD") request.method = has_body ? "POST" : "GET";
  request_.path = std::exchange(request.path, kAnyPath);
  request_.query = {request.params.begin(), request.params.end()};
  request_.headers = headers_of(head_);
  request_.peer = place_.peer();
  request.ranges.clear();
  // Forms and multipart would be taken apart, replies be compressed, sockets become web sockets.
  for (const char* name : {"Content-Type", "Accept-Encoding", "Upgrade", "Range", "If-Range"}) {
    request.headers.erase(name);
  }
}

void Conversation::answer(const httplib::Request& request, httplib::Response& response) {
  request_.body = request.body;
  HttpReply reply = site_.answer(request_);
  answered_ = true;
  response.status = reply.status;
  response.set_content(std::move(reply.body), reply.content_type);
}

// Called for each status from 400 on, also for those of our handlers.
void Conversation::explain_error(httplib::Response& response) const {
  if (answered_) return;
  if (response.status == 500) {
    const HttpReply& reply = site_.options.internal_error;
    response.status = reply.status;
    response.set_content(reply.body, reply.content_type);
    return;
  }
  if (connection_.failed_by() == Connection::Failure::kTimeout) response.status = 408;
  response.set_content(error_body(httplib::status_message(response.status)), "application/json");
}

// Called for each reply before it is written.
void Conversation::finish_reply(httplib::Response& response) {
  set_deadline_in(kWriteTimeout);
  if (!answered_) stream_.stop_reading();
  // httplib would close after every error; a 404 or 409 is an answer like any other.
  closing_ = !answered_ || wants_close(head_) || listener_.is_stopping() || listener_.is_crowded();
  for (const char* name : {"Connection", "Keep-Alive", "Accept-Ranges"}) {
    response.headers.erase(name);
  }
  if (closing_) response.set_header("Connection", "close");
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpServerOptions options)
      : site(std::move(options)),
        listener(site.options.max_connections, [this](Listener::Place& place) { serve(place); }) {}

  void serve(Listener::Place& place) {
    Connection connection(place.socket(), site.tls ? accepting_session(site.tls) : nullptr);
    Conversation(site, listener, place, connection).hold();
  }

  Site site;
  Listener listener;  // last: its threads use the rest
};

HttpServer::HttpServer(HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::handle(std::string path, HttpHandler handler) {
  impl_->site.handlers.insert_or_assign(std::move(path), std::move(handler));
}

void HttpServer::handle_rest(HttpHandler handler) { impl_->site.rest = std::move(handler); }

Result<Nothing> HttpServer::start() {
  const auto& options = impl_->site.options;
  if (options.tls) {
    auto tls = load_server_tls_context(options.tls->cert_file, options.tls->key_file);
    if (!tls) return tls.error();
    impl_->site.tls = *std::move(tls);
  }
  return impl_->listener.start(options.listen);
}

void HttpServer::stop() { impl_->listener.stop(); }

int HttpServer::port() const { return impl_->listener.port(); }

void add_health_routes(HttpServer& server, std::function<std::string()> not_ready) {
  server.handle("/healthz", [](const HttpRequest&) { return HttpReply{200, "ok", "text/plain"}; });
  server.handle("/readyz", [not_ready = std::move(not_ready)](const HttpRequest&) {
    const std::string reason = not_ready();
    return reason.empty() ? HttpReply{200, "ok", "text/plain"}
                          : HttpReply{503, reason, "text/plain"};
  });
}

}  // namespace nervex
