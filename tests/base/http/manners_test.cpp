// How the HTTP client gets along with servers and networks that do not behave.
#include <atomic>
#include <latch>
#include <thread>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/http/client.h"
#include "base/http/server.h"
#include "base/net/connection.h"
#include "tests/base/full_listener.h"
#include "tests/base/raw_socket.h"
#include "tests/support/scripted_server.h"

namespace nervex {
namespace {

using namespace std::chrono_literals;
using test::RawServer;
using test::RawSocket;
using testing::kept_reply;
using testing::ScriptedServer;
using testing::whole_reply;
using Then = ScriptedServer::Then;

Result<HttpResponse> get(HttpClient& client) { return client.send("GET", "/", {}, "", ""); }
Result<HttpResponse> watch(HttpClient& client) {
  return client.stream("/", {}, 20s, [](std::string_view) { return true; }, {});
}

int option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  REQUIRE(getsockopt(socket, level, name, &value, &size) == 0);
  return value;
}

SocketAddress loopback_address(int port) {
  return resolve({"127.0.0.1", port})->at(0);  // a number: no DNS query
}

bool is_transient(const Result<HttpResponse>& reply) {
  return !reply && reply.error().code == Code::kTransient;
}

TEST_CASE("TCP keep-alive is on for silent connections", "[base][http][manners]") {
  RawServer server([](RawSocket& socket) { socket.receive_all(); });
  const auto dialed =
      dial({{"127.0.0.1", server.port()}, nullptr, ""}, SystemClock().mono() + 20s, -1);
  REQUIRE(dialed);
  const int socket = (*dialed)->socket.get();
  CHECK(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPIDLE) == 30);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPINTVL) == 5);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPCNT) == 3);
  CHECK(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT) == 45'000);
  CHECK(option(socket, IPPROTO_TCP, TCP_NODELAY) == 1);
}

TEST_CASE("A server that cannot be reached costs the connect time-out", "[base][http][manners]") {
  const test::FullListener full;
  const std::string url = fmt::format("http://127.0.0.1:{}", full.port());
  HttpClient client({.url = url, .connect_timeout = 1s, .read_timeout = 1h, .write_timeout = 1h});
  const auto reply = get(client);
  REQUIRE_FALSE(reply);
  CHECK(reply.error() ==
        Error{Code::kTransient, "GET " + url + ": connect to 127.0.0.1: timed out"});
}

TEST_CASE("An address that does not answer leaves time for the next one", "[base][http][manners]") {
  const test::FullListener full;
  RawServer server([](RawSocket& socket) { socket.receive_all(); });
  const std::vector<SocketAddress> addresses{loopback_address(full.port()),
                                             loopback_address(server.port())};
  CHECK(dial_first(addresses, {}, SystemClock().mono() + 2s, -1));
}

TEST_CASE("A server that does not read costs the write time-out", "[base][http][manners]") {
  RawServer* self = nullptr;
  RawServer server([&](RawSocket&) { self->wait_for_end(); });
  self = &server;
  HttpClient client({.url = server.url(), .read_timeout = 1h, .write_timeout = 1s});
  const std::string body(64 << 20, 'x');  // more than the buffers of both sides
  CHECK(is_transient(client.send("POST", "/", {}, body, "t/u")));
}

TEST_CASE("A slow reply ends with the total time-out", "[base][http][manners]") {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
  const auto reply =
      GENERATE_COPY(values<std::string>({head + std::string(100'000, 'x'),             // its body
                                         "HTTP/1.1 200 " + std::string(100'000, 'x'),  // its head
                                         std::string(100, 'H')}));
  ScriptedServer server({{reply, Then::kHold, 5ms}});
  HttpClient client({.url = server.url(), .read_timeout = 1h, .total_timeout = 1s});
  const auto end = get(client);
  REQUIRE_FALSE(end);
  CHECK(end.error() == Error{Code::kTransient, "GET " + server.url() + "/: timed out"});
}

TEST_CASE("A half-open kept connection ends with the read time-out", "[base][http][manners]") {
  ScriptedServer server({kept_reply(200, "{}"), {"", Then::kHold}, whole_reply(200, "{}")});
  HttpClient client({.url = server.url(), .read_timeout = 1s});
  CHECK(get(client));
  CHECK(is_transient(get(client)));
  CHECK(server.connections() == 1);
  CHECK(get(client));
  CHECK(server.connections() == 2);
}

// As many calls at once as connections are to be kept. Catch2's macros are for one thread.
void call_at_once(HttpClient& client, int calls) {
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < calls; ++i) {
      callers.emplace_back([&] {
        if (get(client)) ++answered;
      });
    }
  }
  CHECK(answered == calls);
}

// Replies that come only when all of them have been asked for: each needs its own connection.
std::deque<ScriptedServer::Reply> together(std::latch& all, std::ptrdiff_t count) {
  std::deque<ScriptedServer::Reply> replies;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    replies.push_back(kept_reply(200, "{}"));
    replies.back().before = [&all] { all.arrive_and_wait(); };
  }
  return replies;
}

TEST_CASE("A server that restarts costs no request, however many connections were kept",
          "[base][http][manners]") {
  std::latch all(4);
  auto script = together(all, 4);
  for (int i = 0; i < 3; ++i) script.push_back(kept_reply(200, "{}"));
  ScriptedServer server(script);
  HttpClient client({.url = server.url()});
  call_at_once(client, 4);
  CHECK(server.connections() == 4);
  server.close_connections();
  for (int i = 0; i < 3; ++i) CHECK(get(client));
  CHECK(server.connections() == 5);
}

TEST_CASE("After a half-open connection the other kept ones are closed", "[base][http][manners]") {
  std::latch all(4);
  auto script = together(all, 4);
  script.push_back({"", Then::kHold});
  script.push_back(kept_reply(200, "{}"));
  ScriptedServer server(script);
  HttpClient client({.url = server.url(), .read_timeout = 1s});
  call_at_once(client, 4);
  CHECK(is_transient(get(client)));  // one caller pays for it
  CHECK(get(client));
  CHECK(server.connections() == 5);
}

TEST_CASE("A call that waits for a connection of the pool times out", "[base][http][manners]") {
  std::latch asked(1);
  // Never silent for as long as the time-out, and never at its end.
  auto endless = whole_reply(200, std::string(100'000, 'x'));
  endless.after_each_byte = 5ms;
  endless.before = [&asked] { asked.count_down(); };
  ScriptedServer server({endless});
  HttpClient client({.url = server.url(), .read_timeout = 1s, .pool_size = 1});
  std::jthread first([&client] { (void)get(client); });
  asked.wait();
  const auto second = get(client);
  REQUIRE_FALSE(second);
  CHECK(second.error() ==
        Error{Code::kTransient,
              "GET " + server.url() + "/: not sent: all connections were busy until the timeout"});
  client.end_calls_by(SystemClock().mono());
}

TEST_CASE("The before-sending check runs after all waiting", "[base][http][manners]") {
  std::latch asked(1);
  std::latch may_reply(1);
  auto slow = kept_reply(200, "{}");
  slow.before = [&] {
    asked.count_down();
    may_reply.wait();
  };
  ScriptedServer server({slow, kept_reply(200, "{}")});
  HttpClient client({.url = server.url(), .pool_size = 1});
  std::atomic<bool> may = true;
  Result<HttpResponse> second = Error{Code::kInternal, "not asked"};
  {
    std::jthread first([&client] { (void)get(client); });
    asked.wait();
    std::jthread waiting([&] {
      second = client.send("POST", "/", {}, "{}", "application/json", [&may]() -> Result<Nothing> {
        if (may) return ok();
        return Error{Code::kTransient, "not any more"};
      });
    });
    may = false;  // while it waits for the first to end
    may_reply.count_down();
  }
  REQUIRE_FALSE(second);
  CHECK(second.error().message == "not any more");
  CHECK(get(client));  // the connection is as good as before
}

TEST_CASE("A stream never uses a kept connection", "[base][http][manners]") {
  const auto lines = testing::stream_reply({"a"}, true, Then::kNext);
  ScriptedServer server({kept_reply(200, "{}"), lines, lines, kept_reply(200, "{}")});
  HttpClient client({.url = server.url()});
  CHECK(get(client));
  CHECK(watch(client));
  CHECK(server.connections() == 2);
  CHECK(watch(client));
  CHECK(server.connections() == 3);
  CHECK(get(client));  // and leaves alone those that are kept
  CHECK(server.connections() == 3);
}

TEST_CASE("A reply with a false length is an error, and costs no memory", "[base][http][manners]") {
  const auto length =
      GENERATE(values<std::string>({"9", "1099511627776", "9223372036854775807",
                                    "18446744073709551615", "99999999999999999999999999"}));
  INFO(length);
  ScriptedServer server({{"HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n{}"}});
  HttpClient client({.url = server.url()});
  CHECK(is_transient(get(client)));
}

TEST_CASE("Data after a reply is not taken as the answer to the next request",
          "[base][http][manners]") {
  const std::string two = kept_reply(200, "first").bytes + kept_reply(200, "smuggled").bytes;
  ScriptedServer server({{two, Then::kNext}, kept_reply(200, "second")});
  HttpClient client({.url = server.url()});
  CHECK(get(client)->body == "first");
  CHECK(get(client)->body == "second");
}

TEST_CASE("A head without end is refused before it fills the memory", "[base][http][manners]") {
  const auto piece = GENERATE(values<std::string>({
      "x",                              // the status line
      "HTTP/1.1 200 OK\r\nA: b\r\n",    // also: many status lines
      "HTTP/1.1 100 Continue\r\n\r\n",  // interim replies
  }));
  INFO(piece);
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    std::string flood;
    while (flood.size() < 1 << 16) flood += piece;
    for (int i = 0; i < 200 && socket.is_open(); ++i) socket.send(flood);  // 13 MB at most
  });
  HttpClient client({.url = server.url()});
  CHECK(is_transient(get(client)));
}

// httplib takes it apart by std::regex, which recurses for each character: a handler's thread has a
// stack of 2 MiB.
TEST_CASE("A long status line is refused, on a small stack too", "[base][http][manners]") {
  const auto before = GENERATE(values<std::string>({"", "HTTP/1.1 100 Continue\r\n\r\n"}));
  ScriptedServer upstream(
      {{before + "HTTP/1.1 200 " + std::string(30'000, 'x') + "\r\nContent-Length: 0\r\n\r\n"}});
  HttpClient client({.url = upstream.url()});
  HttpServer server({});
  server.handle("/", [&](const HttpRequest&) {
    return HttpReply{is_transient(get(client)) ? 200 : 500, "", "text/plain"};
  });
  REQUIRE(server.start().has_value());
  HttpClient caller({.url = "http://127.0.0.1:" + std::to_string(server.port())});
  const auto reply = get(caller);
  REQUIRE(reply);
  CHECK(reply->status == 200);
}

TEST_CASE("Headers without end are refused", "[base][http][manners]") {
  const auto header = GENERATE(values<std::string>({"A: b\r\n", "A: bbbbbbbb"}));
  std::string flood = "HTTP/1.1 200 OK\r\n";
  while (flood.size() < 2 << 20) flood += header;
  ScriptedServer server({{flood, Then::kHold}});
  HttpClient client({.url = server.url()});
  CHECK(is_transient(get(client)));
}

TEST_CASE("Interim 1xx replies are skipped", "[base][http][manners]") {
  ScriptedServer server({{"HTTP/1.1 100 Continue\r\n\r\n" + kept_reply(200, "ok").bytes}});
  HttpClient client({.url = server.url()});
  const auto reply = get(client);
  REQUIRE(reply);
  CHECK(reply->status == 200);
  CHECK(reply->body == "ok");
}

TEST_CASE("Redirects are not followed", "[base][http][manners]") {
  ScriptedServer elsewhere({whole_reply(200, "trap")});
  const auto status = GENERATE(301, 302, 303, 307, 308);
  const std::string redirect = fmt::format(
      "HTTP/1.1 {} Found\r\nLocation: {}/\r\nContent-Length: 0\r\n\r\n", status, elsewhere.url());
  ScriptedServer server({{redirect}, {redirect}});
  HttpClient client({.url = server.url()});
  CHECK(get(client)->status == status);
  CHECK(watch(client)->status == status);
  CHECK(elsewhere.connections() == 0);
}

TEST_CASE("Compression is not requested, and a compressed body is returned as it is",
          "[base][http][manners]") {
  ScriptedServer server(
      {{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
        "Content-Length: 4\r\n\r\n\x1f\x8b\x08x"}});
  HttpClient client({.url = server.url()});
  CHECK(get(client)->body == "\x1f\x8b\x08x");
  const std::string asked = server.requests().at(0);
  CHECK(asked.find("Accept-Encoding: identity\r\n") != std::string::npos);
  CHECK(asked.find("gzip") == std::string::npos);
}

}  // namespace
}  // namespace nervex
