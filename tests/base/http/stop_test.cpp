// HttpClient::end_calls_by(): a server that hangs must not keep a program from ending.
#include <latch>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/http/client.h"
#include "tests/base/certs.h"
#include "tests/base/full_listener.h"
#include "tests/base/raw_socket.h"

namespace nervex {
namespace {

using namespace std::chrono_literals;
using test::RawServer;
using test::RawSocket;

MonoTime now() { return SystemClock().mono(); }

// No time-out of the client's own may help.
HttpClientOptions patient(const std::string& url) {
  return {.url = url,
          .connect_timeout = 1h,
          .read_timeout = 1h,
          .write_timeout = 1h,
          .total_timeout = 1h};
}

Result<HttpResponse> get(HttpClient& client) { return client.send("GET", "/", {}, "", ""); }
Result<HttpResponse> watch(HttpClient& client) {
  return client.stream("/", {}, 1h, [](std::string_view) { return true; }, {});
}

// What the call answers if the limit comes while it waits for a server that has said `beginning`.
template <typename Call>
Result<HttpResponse> end_in_flight(const std::string& beginning, const Call& call) {
  std::latch in_flight(1);
  RawServer* self = nullptr;
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    socket.send(beginning);
    in_flight.count_down();
    self->wait_for_end();
  });
  self = &server;
  HttpClient client(patient(server.url()));
  std::optional<Result<HttpResponse>> end;
  {
    const std::jthread caller([&] { end = call(client); });
    in_flight.wait();
    client.end_calls_by(now());
  }
  return *end;
}

void check_stopped(const Result<HttpResponse>& end) {
  REQUIRE_FALSE(end.has_value());
  CHECK(end.error().code == Code::kTransient);
  INFO(end.error().message);
  CHECK(end.error().message.ends_with("the program is stopping"));
}

TEST_CASE("A call in flight ends when the program stops", "[base][http][stop]") {
  const auto beginning = GENERATE(
      values<std::string>({"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n"}));
  INFO("the server has said: " << beginning);
  check_stopped(end_in_flight(beginning, get));
  check_stopped(end_in_flight(beginning, watch));
}

TEST_CASE("A call ends when the program stops, though its server never pauses",
          "[base][http][stop]") {
  std::latch talking(1);
  const auto flood = [&talking](RawSocket& socket) {
    socket.receive_message();
    socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 200'000; ++i) {
      socket.send("8\r\n1234567\n\r\n");
      if (i == 100) talking.count_down();
    }
  };
  RawServer server(flood);
  HttpClient client(patient(server.url()));
  std::optional<Result<HttpResponse>> end;
  {
    const bool is_stream = GENERATE(false, true);
    const std::jthread caller([&] { end = is_stream ? watch(client) : get(client); });
    talking.wait();
    client.end_calls_by(now());
  }
  check_stopped(*end);
}

TEST_CASE("A call ends when the program stops while the server does not take its body",
          "[base][http][stop]") {
  std::latch connected(1);
  RawServer* self = nullptr;
  RawServer server([&](RawSocket&) {
    connected.count_down();
    self->wait_for_end();
  });
  self = &server;
  HttpClient client(patient(server.url()));
  std::optional<Result<HttpResponse>> end;
  {
    const std::string body(64 << 20, 'x');  // more than the buffers of both sides
    const std::jthread caller([&] { end = client.send("POST", "/", {}, body, "t/u"); });
    connected.wait();
    client.end_calls_by(now() + 10ms);
  }
  check_stopped(*end);
}

TEST_CASE("A call ends when the program stops during the TLS handshake", "[base][http][stop]") {
  std::latch connected(1);
  RawServer* self = nullptr;
  RawServer server([&](RawSocket&) {
    connected.count_down();
    self->wait_for_end();
  });
  self = &server;
  const test::TestCa ca;
  const bool is_stream = GENERATE(false, true);
  HttpClientOptions options = patient("https://127.0.0.1:" + std::to_string(server.port()));
  options.ca = ca.pem();
  HttpClient client(options);
  std::optional<Result<HttpResponse>> end;
  {
    const std::jthread caller([&] { end = is_stream ? watch(client) : get(client); });
    connected.wait();
    client.end_calls_by(now());
  }
  check_stopped(*end);
}

TEST_CASE("A call ends when the program stops while it connects", "[base][http][stop]") {
  const test::FullListener full;
  HttpClient client(patient("http://127.0.0.1:" + std::to_string(full.port())));
  std::optional<Result<HttpResponse>> end;
  {
    const bool is_stream = GENERATE(false, true);
    const std::jthread caller([&] { end = is_stream ? watch(client) : get(client); });
    client.end_calls_by(now() + 20ms);
  }
  check_stopped(*end);
}

TEST_CASE("Callers that wait for a connection of the pool end, too", "[base][http][stop]") {
  std::latch in_flight(1);
  RawServer* self = nullptr;
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    in_flight.count_down();
    self->wait_for_end();
  });
  self = &server;
  HttpClientOptions options = patient(server.url());
  options.pool_size = 1;
  HttpClient client(options);
  std::vector<std::optional<Result<HttpResponse>>> ends(4);
  {
    std::vector<std::jthread> callers;
    for (auto& end : ends) callers.emplace_back([&client, &end] { end = get(client); });
    in_flight.wait();
    client.end_calls_by(now() + 10ms);
  }
  for (const auto& end : ends) check_stopped(*end);
  CHECK(server.connections() == 1);
}

TEST_CASE("No call begins after the program has stopped", "[base][http][stop]") {
  RawServer server([](RawSocket&) {});
  HttpClient client(patient(server.url()));
  client.end_calls_by(now() - 1s);
  check_stopped(get(client));
  check_stopped(watch(client));
  CHECK(server.connections() == 0);
}

TEST_CASE("Calls continue until the program stops", "[base][http][stop]") {
  RawServer server([](RawSocket& socket) {
    while (!socket.receive_message().empty()) {
      socket.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  HttpClient client({.url = server.url()});
  client.end_calls_by(now() + 1h);
  client.end_calls_by(now() + 2h);  // a later one changes nothing
  CHECK(get(client)->body == "ok");
  client.end_calls_by(now());
  check_stopped(get(client));
}

}  // namespace
}  // namespace nervex
