#include <latch>
#include <random>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <fmt/format.h>

#include "base/http/client.h"
#include "base/http/exchange.h"
#include "tests/base/raw_socket.h"

namespace nervex {
namespace {

using std::chrono::seconds;
using test::RawServer;
using test::RawSocket;
using Lines = std::vector<std::string>;

constexpr const char* kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

// A server that sends `reply` and then closes, or stays silent until the test is over.
class StreamServer {
 public:
  enum class Then { kClose, kStaySilent };

  explicit StreamServer(std::string reply, Then then = Then::kClose)
      : reply_(std::move(reply)),
        then_(then),
        server_([this](RawSocket& socket) { talk(socket); }) {}

  std::string url() const { return server_.url(); }

 private:
  void talk(RawSocket& socket) {
    socket.receive_message();
    socket.send(reply_);
    if (then_ == Then::kStaySilent) server_.wait_for_end();
  }

  std::string reply_;
  Then then_;
  RawServer server_;
};

struct Seen {
  Lines lines;
  Result<HttpResponse> end;
};

Seen read_stream(const std::string& url, seconds silence = seconds(20)) {
  HttpClient client({.url = url});
  Lines lines;
  const auto on_line = [&lines](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  auto end = client.stream("/", {}, silence, on_line, {});
  return {std::move(lines), std::move(end)};
}

TEST_CASE("A stream yields lines, for every division into chunks", "[base][http][stream]") {
  const StreamServer server(kChunkedHead + chunk("a\nb") + chunk("c\n") + chunk("\nd\n") +
                            "0\r\n\r\n");
  const Seen seen = read_stream(server.url());
  CHECK(seen.lines == Lines{"a", "bc", "", "d"});
  REQUIRE(seen.end.has_value());
  CHECK(seen.end->status == 200);
  CHECK(seen.end->body.empty());
}

TEST_CASE("A last line without newline counts if the reply is complete", "[base][http][stream]") {
  const StreamServer server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\nb");
  CHECK(read_stream(server.url()).lines == Lines{"a", "b"});
}

TEST_CASE("A reply that is not a stream is returned with its body", "[base][http][stream]") {
  const StreamServer server("HTTP/1.1 410 Gone\r\nContent-Length: 9\r\n\r\n{\"a\":\n1}\n");
  const Seen seen = read_stream(server.url());
  CHECK(seen.lines.empty());
  REQUIRE(seen.end.has_value());
  CHECK(seen.end->status == 410);
  CHECK(seen.end->body == "{\"a\":\n1}\n");
}

TEST_CASE("A stream that breaks off yields its lines, then an error", "[base][http][stream]") {
  const auto reply =
      GENERATE(values<std::string>({std::string(kChunkedHead) + chunk("a\n") + "9\r\nb",
                                    std::string(kChunkedHead) + chunk("a\n"),
                                    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\na\nb"}));
  INFO(reply);
  const StreamServer server(reply);
  const Seen seen = read_stream(server.url());
  CHECK(seen.lines == Lines{"a"});
  REQUIRE_FALSE(seen.end.has_value());
  CHECK(seen.end.error().code == Code::kTransient);
}

TEST_CASE("A stream ends when its caller stops reading", "[base][http][stream]") {
  const StreamServer server(kChunkedHead + chunk("a\nb\nc\n"), StreamServer::Then::kStaySilent);
  HttpClient client({.url = server.url()});
  Lines lines;
  const auto on_line = [&lines](std::string_view line) {
    lines.emplace_back(line);
    return lines.size() < 2;
  };
  const auto end = client.stream("/", {}, seconds(20), on_line, {});
  CHECK(lines == Lines{"a", "b"});
  REQUIRE(end.has_value());
  CHECK(end->status == 200);
}

TEST_CASE("A stream ends after a silence", "[base][http][stream]") {
  const StreamServer server(kChunkedHead + chunk("a\nb"), StreamServer::Then::kStaySilent);
  const Seen seen = read_stream(server.url(), seconds(1));
  CHECK(seen.lines == Lines{"a"});  // "b" may be incomplete
  REQUIRE(seen.end.has_value());
  CHECK(seen.end->status == 200);
}

TEST_CASE("A server that stays silent from the start did not answer", "[base][http][stream]") {
  const StreamServer server("", StreamServer::Then::kStaySilent);
  const Seen seen = read_stream(server.url(), seconds(1));
  REQUIRE_FALSE(seen.end.has_value());
  CHECK(seen.end.error().code == Code::kTransient);
}

TEST_CASE("A stream whose server is silent ends when asked to", "[base][http][stream]") {
  const StreamServer server(kChunkedHead + chunk("a\n"), StreamServer::Then::kStaySilent);
  HttpClient client({.url = server.url()});
  std::latch line_came(1);
  const auto on_line = [&line_came](std::string_view) {
    line_came.count_down();
    return true;
  };
  std::optional<Result<HttpResponse>> end;
  {
    std::jthread reader([&](const std::stop_token& stop) {
      end = client.stream("/", {}, std::chrono::hours(24), on_line, stop);
    });
    line_came.wait();
  }  // asks to stop, and joins
  REQUIRE(end);
  REQUIRE(end->has_value());
  CHECK((*end)->status == 200);
}

TEST_CASE("A stream ends when asked to, before the server has answered", "[base][http][stream]") {
  std::latch request_came(1);
  RawServer* self = nullptr;
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    request_came.count_down();
    self->wait_for_end();
  });
  self = &server;
  HttpClient client({.url = server.url()});
  const auto on_line = [](std::string_view) { return true; };
  std::optional<Result<HttpResponse>> end;
  {
    std::jthread reader([&](const std::stop_token& stop) {
      end = client.stream("/", {}, std::chrono::hours(24), on_line, stop);
    });
    request_came.wait();
  }
  REQUIRE(end);
  CHECK_FALSE(end->has_value());
}

TEST_CASE("A stream that is no longer wanted is not started", "[base][http][stream]") {
  const StreamServer server("", StreamServer::Then::kStaySilent);
  HttpClient client({.url = server.url()});
  std::stop_source stop;
  stop.request_stop();
  const auto on_line = [](std::string_view) { return true; };
  const auto end = client.stream("/", {}, std::chrono::hours(24), on_line, stop.get_token());
  CHECK_FALSE(end.has_value());
}

TEST_CASE("A stream ends when asked to, also if its server sends fast", "[base][http][stream]") {
  RawServer server([](RawSocket& socket) {
    socket.receive_message();
    socket.send(kChunkedHead);
    for (int i = 0; i < 100'000; ++i) socket.send(chunk("line\n"));
  });
  HttpClient client({.url = server.url()});
  std::stop_source stop;
  int lines = 0;
  const auto on_line = [&](std::string_view) {
    if (++lines == 10) stop.request_stop();
    return true;
  };
  const auto end = client.stream("/", {}, seconds(20), on_line, stop.get_token());
  REQUIRE(end.has_value());
  CHECK(lines < 100'000);
}

TEST_CASE("A line without end is refused", "[base][http][stream]") {
  RawServer server([](RawSocket& socket) {
    socket.receive_message();
    socket.send(kChunkedHead + chunk("a\n"));
    const std::string piece = chunk(std::string(1 << 20, 'x'));
    for (int i = 0; i < 20; ++i) socket.send(piece);
  });
  const Seen seen = read_stream(server.url());
  CHECK(seen.lines == Lines{"a"});
  REQUIRE_FALSE(seen.end.has_value());
  CHECK(seen.end.error().code == Code::kTransient);
}

TEST_CASE("A long line below the limit is yielded whole", "[base][http][stream]") {
  const std::string line(6 << 20, 'x');
  const StreamServer server(kChunkedHead + chunk(line) + chunk("\n") + "0\r\n\r\n");
  CHECK(read_stream(server.url()).lines == Lines{line});
}

// The framer's lines for `bytes` in pieces of random sizes.
template <typename Framer>
Lines framed_in_pieces(Framer& framer, std::string_view bytes, std::size_t largest,
                       std::mt19937& rng) {
  Lines lines;
  const auto on_line = [&lines](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(1 + rng() % largest, bytes.size());
    CHECK(framer.feed(bytes.substr(0, size), on_line) == FramerStatus::kMore);
    bytes.remove_prefix(size);
  }
  return lines;
}

TEST_CASE("LineFramer finds the same lines in every way to cut them", "[base][property]") {
  const auto seed = GENERATE(take(100, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  Lines want;
  std::string bytes;
  for (auto i = rng() % 20; i > 0; --i) {
    want.emplace_back(rng() % 30, 'x');
    bytes += want.back() + "\n";
  }
  LineFramer framer(30);
  CHECK(framed_in_pieces(framer, bytes, 40, rng) == want);
  CHECK(framer.rest().empty());
}

TEST_CASE("LengthDelimitedFramer finds the same frames in every way to cut them",
          "[base][property]") {
  const auto seed = GENERATE(take(100, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  Lines want;
  std::string bytes;
  for (auto i = rng() % 20; i > 0; --i) {
    want.emplace_back(rng() % 300, static_cast<char>(rng()));
    const std::size_t size = want.back().size();
    bytes += {'\0', '\0', static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
    bytes += want.back();
  }
  LengthDelimitedFramer framer(300);
  CHECK(framed_in_pieces(framer, bytes, 400, rng) == want);
}

TEST_CASE("LengthDelimitedFramer keeps nothing of a frame that is too long, and stops if told",
          "[base]") {
  const auto make_frame = [](char size, const std::string& text) {
    return std::string({'\0', '\0', '\0', size}) + text;
  };
  LengthDelimitedFramer framer(4);
  const auto on_frame = [](std::string_view frame) { return frame != "stop"; };
  CHECK(framer.feed(make_frame(4, "abcd"), on_frame) == FramerStatus::kMore);
  CHECK(framer.feed(make_frame(5, ""), on_frame) == FramerStatus::kTooLong);
  LengthDelimitedFramer other(4);
  CHECK(other.feed(make_frame(4, "stop") + make_frame(1, "x"), on_frame) == FramerStatus::kStopped);
}

TEST_CASE("LineFramer counts a line's bytes over all pieces", "[base]") {
  const auto on_line = [](std::string_view) { return true; };
  LineFramer framer(4);
  CHECK(framer.feed("abcd\nabc", on_line) == FramerStatus::kMore);
  CHECK(framer.feed("d", on_line) == FramerStatus::kMore);
  CHECK(framer.feed("e", on_line) == FramerStatus::kTooLong);
  LineFramer at_once(4);
  CHECK(at_once.feed("abcde\n", on_line) == FramerStatus::kTooLong);
}

}  // namespace
}  // namespace nervex
