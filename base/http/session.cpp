#include "base/http/session.h"

#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/http/reply.h"
#include "base/log.h"

namespace nervex {

namespace {

using State = Listener::Permit::State;

constexpr std::chrono::seconds kLingerTimeout{1};
constexpr std::size_t kSmallBody = 64 << 10;  // copied, to leave in one packet with its head

HttpHeadLimits limits_of(const HttpServerOptions& options) {
  HttpHeadLimits limits;
  limits.max_body_bytes = options.max_body_bytes;
  limits.allow_chunked_bodies = options.allow_chunked_bodies;
  return limits;
}

bool wants_close(const HttpHead& head) {
  return head.http_1_0 || head.has_word("connection", "close");
}

HttpRequest request_of(const HttpHead& head, std::string body, const std::string& peer,
                       Connection& connection) {
  HttpTarget target = split_http_target(head.target);
  return {.method = head.method,
          .path = std::move(target.path),
          .query = std::move(target.query),
          .headers = {head.headers.begin(), head.headers.end()},
          .body = std::move(body),
          .peer = peer,
          .has_caller_left = [&connection] { return connection.has_peer_left(); }};
}

}  // namespace

HttpSite::HttpSite(HttpServerOptions given)
    : options(std::move(given)),
      limits(limits_of(options)),
      budget(std::max(options.max_bytes_in_flight, options.max_body_bytes)) {}

HttpReply HttpSite::answer(const HttpRequest& request) const {
  const auto found = handlers.find(request.path);
  std::string problem;
  try {
    return (found == handlers.end() ? rest : found->second)(request);
  } catch (const std::exception& e) {
    problem = e.what();
  } catch (...) {
    problem = "not an exception";
  }
  log_error("http handler failed",
            {{"method", request.method}, {"path", request.path}, {"error", problem}});
  return options.internal_error;
}

void HttpSession::set_deadline_in(std::chrono::milliseconds time) {
  connection_.set_deadline(SystemClock().mono() + time);
}

void HttpSession::hold() {
  // Until it has said something, a TLS caller is as idle as any other: it may be closed for a new
  // one.
  if (connection_.is_tls() && !wait_for_bytes(Wait::kHandshake)) return;
  set_deadline_in(site_.options.read_timeout);
  if (!connection_.handshake()) return;
  while (wait_for_bytes(Wait::kRequest) && take_request()) {
  }
  connection_.close_politely();
  if (closing_) linger();
}

// Idle: only here may the connection be shut down for a new one or because the server stops.
bool HttpSession::wait_for_bytes(Wait wait) {
  const auto& options = site_.options;
  bool came = !connection_.buffered().empty();  // the caller sends ahead
  if (!came) {
    permit_.set_state(State::kIdle);
    set_deadline_in(wait == Wait::kRequest ? options.idle_timeout : options.read_timeout);
    connection_.set_wake_fd(listener_.stop_fd());
    came = connection_.wait_readable();
    connection_.set_wake_fd(-1);
  }
  permit_.set_state(State::kReceiving);
  return came;
}

// False: the connection is at its end.
bool HttpSession::take_request() {
  set_deadline_in(site_.options.read_timeout);
  closing_ = false;
  if (connection_.buffered().empty() && !connection_.fill()) return false;  // closed while idle
  auto head = read_head();
  if (const auto* refusal = std::get_if<HttpRefusal>(&head)) return refuse(*refusal);
  const auto& good = std::get<HttpHead>(head);
  BodyShare share(site_.budget);
  auto body = read_body(good, share);
  if (const auto* refusal = std::get_if<HttpRefusal>(&body)) return refuse(*refusal);
  permit_.set_state(State::kBusy);
  return reply_to(good, site_.answer(request_of(good, std::get<std::string>(std::move(body)),
                                                permit_.peer(), connection_)));
}

std::variant<HttpHead, HttpRefusal> HttpSession::read_head() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  for (;;) {
    const std::string_view seen = connection_.buffered();
    const std::size_t end = seen.find(kEnd);
    if (end <= site_.limits.max_head_bytes - kEnd.size()) {
      auto head = read_http_head(seen.substr(0, end + kEnd.size()), site_.limits);
      connection_.drop(end + kEnd.size());
      return head;
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

std::variant<std::string, HttpRefusal> HttpSession::read_body(const HttpHead& head,
                                                              BodyShare& share) {
  const bool waits_for_leave = head.has_word("expect", "100-continue") && !head.http_1_0;
  if (waits_for_leave && connection_.buffered().empty() &&
      !connection_.write("HTTP/1.1 100 Continue\r\n\r\n")) {
    return HttpRefusal{408, "the caller takes no answer"};
  }
  return read_http_body(connection_, head, site_.limits, share);
}

bool HttpSession::reply_to(const HttpHead& head, const HttpReply& reply) {
  closing_ = wants_close(head) || listener_.is_stopping() || listener_.is_above_high_watermark();
  // Asked before: a caller that has its reply may leave at once.
  const bool is_waited_for = !reply.on_written || !connection_.has_peer_left();
  const bool written = write(reply, head.method != "HEAD");
  if (reply.on_written) reply.on_written(is_waited_for && written);
  return written && !closing_;
}

// The last word to a caller whose request no handler gets to see. What may follow in the connection
// is not looked at: where the next request begins is anybody's guess.
bool HttpSession::refuse(const HttpRefusal& refusal) {
  log_debug("request refused", {{"peer", permit_.peer()},
                                {"status", std::to_string(refusal.status)},
                                {"reason", refusal.reason}});
  closing_ = true;
  closing_ = write(site_.options.refusal(refusal.status, refusal.reason), true);
  return false;
}

bool HttpSession::write(const HttpReply& reply, bool with_body) {
  set_deadline_in(site_.options.write_timeout);
  std::string bytes = http_reply_head(reply, closing_);
  if (!with_body) return connection_.write(bytes);
  if (reply.body.size() > kSmallBody)
    return connection_.write(bytes) && connection_.write(reply.body);
  bytes += reply.body;
  return connection_.write(bytes);
}

// Closing while the caller still sends makes the caller's system drop our last reply. So, after
// having said that nothing more comes, read on for a moment until the caller has understood.
void HttpSession::linger() {
  connection_.set_wake_fd(listener_.stop_fd());
  set_deadline_in(kLingerTimeout);
  std::string unread(16'384, '\0');
  while (connection_.wait_readable() && connection_.read(unread.data(), unread.size()) > 0) {
  }
}

}  // namespace nervex
