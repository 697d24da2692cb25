#include "base/http/exchange.h"

#include <algorithm>
#include <new>
#include <regex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "base/text.h"

namespace nervex {
namespace {

constexpr std::size_t kMaxHeadBytes = 1 << 20;  // includes all preceding "100 Continue"
// httplib parses a status line with std::regex, which uses stack for each character.
constexpr std::size_t kMaxStatusLineBytes = 4096;
constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 30;  // a list of all pods is large

// The library frames HTTP/1.1; sockets, TLS, deadlines and threads are ours, so that no peer can
// hold them longer than we allow.
class ConnectionStream final : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  // Longest waits for a piece to read, and for the peer to take one; replaces the connection's.
  void set_timeout(std::chrono::milliseconds reading, std::chrono::milliseconds writing) {
    read_timeout_ = reading;
    write_timeout_ = writing;
  }
  // Limits a message's head to `bytes` until end_head(), regardless of its content.
  void limit_head(std::size_t bytes) { head_left_ = bytes; }
  void end_head() { head_left_.reset(); }
  // Borrowed. Needed for a peer that never makes us wait, and so would not meet it otherwise.
  void set_limit(const CallLimit& limit) { limit_ = &limit; }

  using Stream::write;
  bool is_readable() const override { return !connection_.buffered().empty(); }
  bool wait_readable() const override { return connection_.wait_readable(); }
  // Writing waits by itself. Returning false here would only lose the error's name.
  bool wait_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    if (limit_ != nullptr && limit_->is_over()) return -1;
    // The library reads a reply even if sending the request failed.
    if (connection_.failed_by() == Connection::Failure::kTimeout) return -1;
    if (head_left_ && *head_left_ < size) return -1;
    if (head_left_) *head_left_ -= size;
    if (read_timeout_) connection_.set_timeout(*read_timeout_);
    const ssize_t got = connection_.read(to, size);
    return got > 0 && head_left_ && !is_head_sound(*to) ? -1 : got;
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    if (write_timeout_) connection_.set_timeout(*write_timeout_);
    return connection_.write(std::string_view(bytes, size)) ? static_cast<ssize_t>(size) : -1;
  }
  // Called only by the library's own sockets and by parts that we do not use.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return -1; }
  time_t duration() const override { return 0; }

 private:
  // Checks the next character of a head, which the library reads one by one.
  bool is_head_sound(char c) {
    if (line_bytes_ < kStatusLine.size()) is_status_line_ &= c == kStatusLine[line_bytes_];
    ++line_bytes_;
    if (is_status_line_ && line_bytes_ > kMaxStatusLineBytes) return false;
    if (c != '\n') return true;
    line_bytes_ = 0;
    is_status_line_ = true;
    return true;
  }

  static constexpr std::string_view kStatusLine = "HTTP/";
  Connection& connection_;
  std::size_t line_bytes_ = 0;  // of the current line of the head
  bool is_status_line_ = true;  // the current line is one so far
  const CallLimit* limit_ = nullptr;
  std::optional<std::chrono::milliseconds> read_timeout_;
  std::optional<std::chrono::milliseconds> write_timeout_;
  std::optional<std::size_t> head_left_;
};

bool is_letter_or_digit(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
}

// Characters allowed in a header's name (and a method) and value: RFC 9110, 5.
bool is_token(std::string_view text) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || kPunctuation.find(c) != std::string_view::npos;
  });
}
bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= ' ' && byte != 0x7F);
  });
}

// httplib sends "Expect: 100-continue" before a body of 1 kB or more, which costs a round trip, or
// a second with servers that do not support it. It skips that if a header of that name exists, so
// one is added, and omitted here.
ssize_t write_headers(httplib::Stream& stream, const httplib::Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers) {
    if (name != "Expect") text += fmt::format("{}: {}\r\n", name, value);
  }
  text += "\r\n";
  return stream.write(text.data(), text.size());
}

// A client of httplib that never connects: only its HTTP writer and parser are used, on our own
// connection. It never requests compressed replies and never follows redirects, which would forward
// the credentials.
class Exchange : private httplib::ClientImpl {
 public:
  Exchange(HttpExchange given, const HostPort& server)
      : ClientImpl(server.host, server.port), on_head_(std::move(given.on_head)) {
    set_path_encode(false);  // callers encode what they must
    set_decompress(false);
    set_header_writer(write_headers);
    request_.method = std::move(given.method);
    request_.path = std::move(given.target);
    request_.body = std::move(given.body);
    set_header("Host", to_string(server));
    set_header("Expect", "");
    // Cheaper than compressing on one side and decompressing on the other.
    set_header("Accept-Encoding", "identity");
    set_header("User-Agent", "nervex");
    for (const auto& [name, value] : given.headers) request_.headers.erase(name);
    for (const auto& [name, value] : given.headers) request_.headers.emplace(name, value);
    if (given.on_bytes) {
      request_.content_receiver = [on_bytes = std::move(given.on_bytes)](const char* bytes,
                                                                         std::size_t size,
                                                                         std::size_t, std::size_t) {
        return on_bytes(std::string_view(bytes, size));
      };
    } else {  // a stream has no end, a stored reply has one
      set_payload_max_length(kMaxReplyBytes);
    }
  }

  // False: no complete reply.
  bool run(ConnectionStream& stream) {
    stream.limit_head(kMaxHeadBytes);
    request_.response_handler = [&](const httplib::Response&) {
      stream.end_head();
      return see_head();
    };
    httplib::Error error = httplib::Error::Success;
    try {
      return process_request(stream, request_, response_, false, error);
    } catch (const std::regex_error&) {  // httplib's parser on an absurd status line
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // The reply stated its end, and another may follow.
  bool leaves_reusable() const {
    const std::string connection = to_lower(response_.get_header_value("Connection"));
    const bool bodiless =
        request_.method == "HEAD" || response_.status == 204 || response_.status == 304;
    const bool framed = response_.has_header("Content-Length") ||
                        to_lower(response_.get_header_value("Transfer-Encoding")) == "chunked";
    return response_.version == "HTTP/1.1" && connection.find("close") == std::string::npos &&
           (bodiless || framed);
  }

  HttpResponse take_reply() {
    // httplib uses -1 for no status.
    HttpResponse reply{std::max(response_.status, 0), {}, std::move(response_.body)};
    for (const auto& [name, value] : response_.headers) {
      const auto [at, is_new] = reply.headers.emplace(to_lower(name), value);
      // RFC 9110, 5.3. httplib holds the lines of one name in reverse order.
      if (!is_new) at->second.insert(0, value + ", ");
    }
    return reply;
  }

 private:
  void set_header(const std::string& name, const std::string& value) {
    request_.headers.erase(name);
    request_.headers.emplace(name, value);
  }

  // httplib would allocate as much memory as the reply announces.
  bool see_head() {
    if (on_head_) on_head_(response_.status, response_.get_header_value("Content-Type"));
    return request_.content_receiver ||
           response_.get_header_value_u64("Content-Length") <= kMaxReplyBytes;
  }

  std::function<void(int, std::string_view)> on_head_;
  httplib::Request request_;
  httplib::Response response_;
};

}  // namespace

Result<Nothing> check_exchange(const HttpExchange& exchange) {
  const auto is_plain = [](char c) { return '!' <= c && c <= '~'; };
  if (!is_token(exchange.method)) {
    return Error{Code::kInvalid, "not an HTTP method: " + exchange.method};
  }
  const std::string& target = exchange.target;
  if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_plain)) {
    return Error{Code::kInvalid, fmt::format("not a request path: \"{}\"", target)};
  }
  for (const auto& [name, value] : exchange.headers) {
    if (is_token(name) && is_value(value)) continue;
    return Error{Code::kInvalid, fmt::format("header {} cannot be sent", name)};
  }
  return ok();
}

HttpOutcome run_exchange(HttpExchange given, const HostPort& server, Connection& connection,
                         const CallLimit& limit) {
  ConnectionStream stream(connection);
  stream.set_timeout(given.read_timeout, given.write_timeout);
  stream.set_limit(limit);
  Exchange exchange(std::move(given), server);
  HttpOutcome outcome;
  outcome.complete = exchange.run(stream);
  outcome.reusable = outcome.complete && exchange.leaves_reusable();
  outcome.reply = exchange.take_reply();
  if (!outcome.complete) {
    const bool broken = connection.failed_by() != Connection::Failure::kNone;
    outcome.why = broken ? connection.why() : "the reply is malformed or too large";
  }
  return outcome;
}

// ---- replies that are streams

FramerStatus LineFramer::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (piece.size() > max_bytes_ - rest_.size()) return FramerStatus::kTooLong;
    if (end == std::string_view::npos) {
      rest_ += piece;
      return FramerStatus::kMore;
    }
    bytes.remove_prefix(end + 1);
    bool go_on = false;
    if (rest_.empty()) {  // the usual case needs no copy
      go_on = on_line(piece);
    } else {
      rest_ += piece;
      go_on = on_line(rest_);
      rest_.clear();
    }
    if (!go_on) return FramerStatus::kStopped;
  }
  return FramerStatus::kMore;
}

FramerStatus LengthDelimitedFramer::feed(std::string_view bytes, const OnLine& on_frame) {
  constexpr std::size_t kHead = 4;
  const auto parse_content_length = [](std::string_view head) {
    std::size_t length = 0;
    for (const char c : head.substr(0, kHead)) length = length << 8 | static_cast<unsigned char>(c);
    return length;
  };
  for (;;) {
    if (rest_.size() < kHead) {
      const std::size_t missing = std::min(kHead - rest_.size(), bytes.size());
      rest_ += bytes.substr(0, missing);
      bytes.remove_prefix(missing);
      if (rest_.size() < kHead) return FramerStatus::kMore;
    }
    const std::size_t length = parse_content_length(rest_);
    if (length > max_bytes_) return FramerStatus::kTooLong;
    const std::size_t missing = kHead + length - rest_.size();
    bool go_on = false;
    if (bytes.size() < missing) {
      rest_ += bytes;
      return FramerStatus::kMore;
    }
    if (rest_.size() == kHead) {  // the usual case needs no copy
      go_on = on_frame(bytes.substr(0, missing));
    } else {
      rest_ += bytes.substr(0, missing);
      go_on = on_frame(std::string_view(rest_).substr(kHead));
    }
    bytes.remove_prefix(missing);
    rest_.clear();
    if (!go_on) return FramerStatus::kStopped;
  }
}

}  // namespace nervex
