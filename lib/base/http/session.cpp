#include "base/http/session.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "base/clock.h"
#include "base/http/head_check.h"
#include "base/http/request_bytes.h"
#include "base/log.h"
#include "base/text.h"

namespace nervex {

namespace {

using State = Listener::Permit::State;

constexpr std::chrono::seconds kLingerTimeout{1};

// One request's connection, as the library sees it.
class RequestStream final : public httplib::Stream {
 public:
  RequestStream(Connection& connection, BodyBudget& budget, const std::string& peer)
      : bytes_(connection, budget, peer), connection_(connection) {}

  RequestBytes& bytes() { return bytes_; }
  const Refused& refused() const { return bytes_.refused(); }

  ssize_t read(char* to, std::size_t size) override { return bytes_.read(to, size); }
  using Stream::write;
  ssize_t write(const char* bytes, std::size_t size) override {
    return connection_.write(std::string_view(bytes, size)) ? static_cast<ssize_t>(size) : -1;
  }
  // Reading and writing wait by themselves. The other functions belong to unused parts.
  bool is_readable() const override { return false; }
  bool wait_readable() const override { return true; }
  bool wait_writable() const override { return true; }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return -1; }
  time_t duration() const override { return 0; }

 private:
  RequestBytes bytes_;
  Connection& connection_;
};

// ---- requests

// Exact paths. The library's own routes are regular expressions, which recurse and took a fifth of
// the instructions of a request.
struct Routes {
  const HttpHandler& find(const std::string& path) const {
    const auto found = handlers.find(path);
    return found == handlers.end() ? rest : found->second;
  }

  std::map<std::string, HttpHandler> handlers;
  HttpHandler rest = [](const HttpRequest&) { return HttpReply{404, "{}"}; };
};

// The caller's state between requests.
struct Caller {
  enum class Waiting { kForRequest, kForHandshake };

  // The only place where the connection may be shut down because the server stops or, once idle,
  // for a new one. A caller that was never served is slow, not idle: otherwise others that wait for
  // its place would take it before its request is read.
  bool wait_for_bytes(Waiting waiting);
  void set_deadline_in(std::chrono::milliseconds time) {
    connection.set_deadline(SystemClock().mono() + time);
  }
  void linger();

  const HttpServerOptions& options;
  const Listener& listener;
  Listener::Permit& permit;
  Connection& connection;
  bool was_served = false;
};

bool Caller::wait_for_bytes(Waiting waiting) {
  bool came = connection.has_received();  // sent ahead
  if (!came) {
    permit.set_state(was_served ? State::kIdle : State::kReceiving);
    set_deadline_in(waiting == Waiting::kForRequest ? options.idle_timeout : options.read_timeout);
    connection.set_wake_fd(listener.stop_fd());
    came = connection.wait_readable();
    connection.set_wake_fd(-1);
  }
  permit.set_state(State::kReceiving);
  return came;
}

// If we close while the caller still sends, its system drops our last reply. So, after shutting
// down our side, read on for a moment until the caller has noticed.
void Caller::linger() {
  permit.set_state(State::kLeaving);
  connection.set_wake_fd(listener.stop_fd());
  set_deadline_in(kLingerTimeout);
  std::string unread(16'384, '\0');
  while (connection.wait_readable() && connection.read(unread.data(), unread.size()) > 0) {
  }
}

// One request, while the library processes it.
class ServedRequest {
 public:
  ServedRequest(Caller& caller, BodyBudget& budget)
      : caller_(caller), stream_(caller.connection, budget, caller.permit.peer()) {}

  RequestStream& stream() { return stream_; }
  bool is_last() const { return last_; }

  // The library calls the other functions, in this order.
  void see_head(httplib::Request& request);
  bool is_refused() const { return refused_ || stream_.refused(); }
  void refuse(httplib::Response& response);
  void answer_unless_answered(const Routes& routes, httplib::Response& response);
  void finish(httplib::Response& response);
  void report(bool written);

 private:
  void answer(const HttpHandler& handler, httplib::Response& response);
  HttpRequest take_request();
  HttpReply ask(const HttpHandler& handler, const HttpRequest& request) const;
  void fill(httplib::Response& response, HttpReply reply);

  Caller& caller_;
  RequestStream stream_;
  const MonoTime received_ = SystemClock().mono();
  httplib::Request* request_ = nullptr;  // once its head has been read
  httplib::Headers::node_type type_;     // its Content-Type
  Refused refused_;
  bool handled_ = false;   // a handler saw the request, so all of it was read
  bool answered_ = false;  // the response is ours
  bool last_ = false;      // the connection ends with this reply
  bool is_waited_for_ = true;
  bool has_waited_ = false;  // its handler: may have lost its place
  std::function<void(bool)> on_written_;
};

void ServedRequest::see_head(httplib::Request& request) {
  request_ = &request;
  const bool http_1_1 = request.version == "HTTP/1.1";
  HeadCheck head;
  head.see_text(stream_.bytes().head());
  stream_.bytes().begin_body();
  for (const auto& [name, value] : request.headers) head.see_header(name, value);
  last_ = head.asks_for_close() || !http_1_1;
  refused_ = head.check(request.method, request.target, http_1_1, caller_.options.max_body_bytes);
  // A caller of HTTP/1.0 would take a 100 for its reply (RFC 9110 10.1.1). The library recognises
  // the value only in lower case, and would let other callers wait.
  if (!http_1_1) request.headers.erase("Expect");
  const auto expect = request.headers.find("Expect");
  const bool asks_for_leave = expect != request.headers.end() && !expect->second.empty();
  if (asks_for_leave && !refused_) expect->second = "100-continue";
  // A body is bytes and a reply is whole, regardless of the request's headers: the library would
  // parse forms and return ranges of the reply.
  while (auto type = request.headers.extract("Content-Type")) type_ = std::move(type);
  request.ranges.clear();
}

// If a handler throws, the reply gives no reason; the log does.
HttpReply ServedRequest::ask(const HttpHandler& handler, const HttpRequest& request) const {
  std::string problem;
  try {
    return handler(request);
  } catch (const std::exception& e) {
    problem = e.what();
  } catch (...) {
    problem = "unknown exception";
  }
  log_error("http handler failed",
            {{"method", request.method}, {"path", request.path}, {"error", problem}});
  return caller_.options.internal_error;
}

HttpRequest ServedRequest::take_request() {
  HttpRequest request{.method = request_->method,  // the library reads it again
                      .path = std::move(request_->path),
                      .query = std::move(request_->params),
                      .headers = {},
                      .body = std::move(request_->body),
                      .peer = caller_.permit.peer(),
                      .received = received_,
                      .has_caller_left = [this] { return caller_.connection.has_peer_left(); },
                      .set_waiting =
                          [this](bool waits) {
                            has_waited_ = true;
                            caller_.permit.set_state(waits ? State::kWaiting : State::kBusy);
                          },
                      .has_lost_place = [this] { return caller_.permit.is_evicted(); }};
  request.headers.reserve(request_->headers.size() + 1);
  for (auto& [name, value] : request_->headers) {
    request.headers.emplace_back(to_lower(name), std::move(value));
  }
  if (type_) request.headers.emplace_back("content-type", std::move(type_.mapped()));
  return request;
}

void ServedRequest::answer(const HttpHandler& handler, httplib::Response& response) {
  caller_.permit.set_state(State::kBusy);
  handled_ = true;
  fill(response, ask(handler, take_request()));
}

void ServedRequest::fill(httplib::Response& response, HttpReply reply) {
  answered_ = true;
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  response.set_content(std::move(reply.body), reply.content_type);
  if (!reply.on_written) return;
  on_written_ = std::move(reply.on_written);
  // Checked before, because a caller may leave once it has its reply.
  is_waited_for_ = !caller_.connection.has_peer_left();
}

// The last reply to a caller whose request no handler gets. Later bytes of the connection are
// ignored, because the start of the next request is unknown.
void ServedRequest::refuse(httplib::Response& response) {
  const Refusal why = stream_.refused() ? *stream_.refused()
                      : refused_        ? *refused_
                      : response.status == 400
                          ? Refusal{400, "the request is malformed"}
                          : Refusal{response.status, httplib::status_message(response.status)};
  log_debug("request refused", {{"peer", caller_.permit.peer()},
                                {"status", std::to_string(why.status)},
                                {"reason", why.reason}});
  fill(response, caller_.options.refusal(why.status, why.reason));
}

// The library has no answer to the request, or an answer of its own.
void ServedRequest::answer_unless_answered(const Routes& routes, httplib::Response& response) {
  if (answered_) return;
  const bool has_come = response.status == 404 && request_ != nullptr && !is_refused();
  if (has_come) return answer(routes.find(request_->path), response);
  if (response.status == 500) return fill(response, caller_.options.internal_error);
  refuse(response);
}

void ServedRequest::finish(httplib::Response& response) {
  stream_.bytes().begin_reply();
  caller_.set_deadline_in(caller_.options.write_timeout);
  if (!handled_ || caller_.listener.is_stopping() || caller_.listener.is_above_high_watermark() ||
      (has_waited_ && caller_.permit.is_evicted())) {
    last_ = true;
  }
  // The library would add it after every error. Headers set here are already valid, and
  // set_header() would check each character again.
  response.headers.erase("Connection");
  if (last_) response.headers.emplace("Connection", "close");
  if (!response.has_header("Content-Length")) {
    response.headers.emplace("Content-Length", std::to_string(response.body.size()));
  }
  // An API server retries a webhook only if it gets this header.
  if ((response.status == 500 || response.status == 503) && !response.has_header("Retry-After")) {
    response.headers.emplace("Retry-After", "1");
  }
}

// Omits the library's headers about timeouts and ranges, which are wrong here.
ssize_t write_headers(httplib::Stream& stream, const httplib::Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers) {
    if (name == "Keep-Alive" || name == "Accept-Ranges") continue;
    text.append(name).append(": ").append(value).append("\r\n");
  }
  text += "\r\n";
  return stream.write(text.data(), text.size());
}

// Outside the library's exception handling, because the reply is already written.
void ServedRequest::report(bool written) {
  if (!on_written_) return;
  std::string problem;
  try {
    return on_written_(is_waited_for_ && written);
  } catch (const std::exception& e) {
    problem = e.what();
  } catch (...) {
    problem = "unknown exception";
  }
  log_error("http handler failed after its reply",
            {{"peer", caller_.permit.peer()}, {"error", problem}});
}

// The library's callbacks do not name their connection. Each connection has a thread, and this is
// the thread's current request.
thread_local ServedRequest* current = nullptr;

}  // namespace

// Memory limit of all large bodies.
std::size_t bytes_of_all(const HttpServerOptions& options) {
  return std::max(options.max_bytes_in_flight, options.max_body_bytes);
}
std::size_t bytes_of_one_peer(const HttpServerOptions& options) {
  const std::size_t all = bytes_of_all(options);
  if (options.max_connections_per_peer == 0) return all;
  return std::max(all / 4 * 3, options.max_body_bytes);
}

// Like httplib::SSLServer: another kind of connection, the same HTTP.
class HttpSite::Library final : public httplib::Server {
 public:
  explicit Library(HttpServerOptions given);

  void serve(const Listener& listener, Listener::Permit& permit, Connection& connection);

  const HttpServerOptions options;
  Routes routes;

 private:
  bool take_request(ServedRequest& served, const std::string& peer);

  BodyBudget budget_;
};

HttpSite::Library::Library(HttpServerOptions given)
    : options(std::move(given)), budget_(bytes_of_all(options), bytes_of_one_peer(options)) {
  set_payload_max_length(options.max_body_bytes);
  set_header_writer(write_headers);
  set_expect_100_continue_handler([](const httplib::Request&, httplib::Response& response) {
    if (!current->is_refused()) return 100;
    current->refuse(response);
    return response.status;
  });
  set_pre_routing_handler([](const httplib::Request&, httplib::Response& response) {
    if (!current->is_refused()) return HandlerResponse::Unhandled;
    current->refuse(response);
    return HandlerResponse::Handled;
  });
  set_error_handler([this](const httplib::Request&, httplib::Response& response) {
    current->answer_unless_answered(routes, response);
    // The answer is in `response`. With "Handled" the library would also process ranges and
    // encodings.
    return HandlerResponse::Unhandled;
  });
  set_post_routing_handler(
      [](const httplib::Request&, httplib::Response& response) { current->finish(response); });
}

// False: no reply was written.
bool HttpSite::Library::take_request(ServedRequest& served, const std::string& peer) {
  bool written = false;
  bool ignored = false;  // the library's wish for the connection
  current = &served;
  try {
    written = process_request(served.stream(), peer, 0, "", 0, false, ignored,
                              [&](httplib::Request& request) { served.see_head(request); });
  } catch (const std::exception& e) {  // out of memory
    log_error("http request failed", {{"peer", peer}, {"error", e.what()}});
  }
  current = nullptr;
  served.report(written);
  return written;
}

void HttpSite::Library::serve(const Listener& listener, Listener::Permit& permit,
                              Connection& connection) {
  using Waiting = Caller::Waiting;
  Caller caller{options, listener, permit, connection};
  if (connection.is_tls() && !caller.wait_for_bytes(Waiting::kForHandshake)) return;
  caller.set_deadline_in(options.read_timeout);
  if (!connection.handshake()) return;
  bool written = true;
  bool last = false;
  while (written && !last && caller.wait_for_bytes(Waiting::kForRequest)) {
    caller.set_deadline_in(options.read_timeout);
    if (connection.buffered().empty() && !connection.fill()) break;  // closed while idle
    ServedRequest served(caller, budget_);
    written = take_request(served, permit.peer());
    last = served.is_last();
    caller.was_served = true;
  }
  connection.close_politely();
  if (written && last) caller.linger();
}

HttpSite::HttpSite(HttpServerOptions options)
    : library_(std::make_unique<Library>(std::move(options))) {}

HttpSite::~HttpSite() = default;

void HttpSite::handle(std::string path, HttpHandler handler) {
  library_->routes.handlers.insert_or_assign(std::move(path), std::move(handler));
}

void HttpSite::handle_rest(HttpHandler handler) { library_->routes.rest = std::move(handler); }

void HttpSite::serve(const Listener& listener, Listener::Permit& permit, Connection& connection) {
  library_->serve(listener, permit, connection);
}

const HttpServerOptions& HttpSite::options() const { return library_->options; }

std::string HttpSite::last_reply(const HttpReply& reply) const {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: {}\r\n"
      "Content-Length: {}\r\n\r\n{}",
      reply.status, httplib::status_message(reply.status), reply.content_type, reply.body.size(),
      reply.body);
}

}  // namespace nervex
