#include "base/http/server.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include "base/http/client.h"
#include "tests/base/raw_socket.h"
#include "tests/support/wait_until.h"

namespace nervex {
namespace {

using testing::wait_until;

using test::RawSocket;
using test::reply_body;
using test::reply_status;

constexpr const char* kPing = "GET /ping HTTP/1.1\r\nHost: test\r\n\r\n";

// Returns what the handler saw.
HttpReply echo(const HttpRequest& request) {
  auto query = nlohmann::json::array();
  for (const auto& [name, value] : request.query) query.push_back(name + "=" + value);
  const std::map<std::string, std::string> headers(request.headers.begin(), request.headers.end());
  const nlohmann::json seen{{"method", request.method},
                            {"path", request.path},
                            {"query", query},
                            {"headers", headers},
                            {"size", request.body.size()},
                            {"body", request.body.substr(0, 100)},
                            {"peer", request.peer}};
  return HttpReply{200, seen.dump(), "application/json"};
}

void add_test_routes(HttpServer& server) {
  server.handle("/ping", [](const HttpRequest&) { return HttpReply{200, "pong", "text/plain"}; });
  server.handle("/echo", echo);
  server.handle("/conflict", [](const HttpRequest&) { return HttpReply{409, "{}"}; });
  server.handle("/throw", [](const HttpRequest&) -> HttpReply {
    throw std::runtime_error("the secret is 42");
  });
}

HttpClient make_client(const HttpServer& server) {
  return HttpClient({.url = "http://127.0.0.1:" + std::to_string(server.port())});
}

HttpResponse get(const HttpServer& server, const std::string& path) {
  HttpClient client = make_client(server);
  auto reply = client.send("GET", path, {}, "", "");
  REQUIRE(reply.has_value());
  return *std::move(reply);
}

bool is_served(const HttpServer& server) { return get(server, "/ping").body == "pong"; }

TEST_CASE("A handler sees the request as it was sent, for every method", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  HttpClient client = make_client(server);

  const auto method =
      GENERATE(values<std::string>({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}));
  const auto body = GENERATE(values<std::string>({"", R"({"a":1})"}));
  INFO(method << " with body \"" << body << '"');
  const auto reply = client.send(method, "/echo?a=1&a=2&b=x%20y", {{"X-Test", "Mixed Case"}}, body,
                                 body.empty() ? "" : "application/json");
  REQUIRE(reply.has_value());
  CHECK(reply->status == 200);
  const auto seen = nlohmann::json::parse(reply->body);
  CHECK(seen.at("method") == method);
  CHECK(seen.at("path") == "/echo");
  CHECK(seen.at("query") == nlohmann::json::array({"a=1", "a=2", "b=x y"}));
  CHECK(seen.at("headers").at("x-test") == "Mixed Case");
  CHECK(seen.at("body") == body);
  CHECK(seen.at("peer") == "127.0.0.1");
}

TEST_CASE("A handler knows since when its caller has been waiting", "[base][http]") {
  const SystemClock clock;
  MonoTime received;
  MonoTime handled;
  HttpServer server({});
  server.handle("/", [&](const HttpRequest& request) {
    received = request.received;
    handled = clock.mono();
    return HttpReply{};
  });
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  for (int again = 0; again < 2; ++again) {  // on one connection each request has its own time
    const MonoTime before = clock.mono();
    socket.send("GET / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    socket.receive_until("\r\n\r\n");
    CHECK(before <= received);
    CHECK(received <= handled);
  }
}

TEST_CASE("HEAD reaches the handler, and its reply has no body", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send("HEAD /echo HTTP/1.1\r\nHost: test\r\n\r\n");
  const std::string head = socket.receive_until("\r\n\r\n");
  CHECK(reply_status(head) == 200);
  socket.send("GET /ping HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
  CHECK(reply_body(socket.receive_all()) == "pong");
}

TEST_CASE("A body is bytes, for every content type", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  HttpClient client = make_client(server);
  const auto type = GENERATE(values<std::string>(
      {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "nonsense"}));
  INFO("content type " << type);
  const std::string body = R"({"a=b":1})" + std::string(20'000, ' ');
  const auto reply = client.send("POST", "/echo", {}, body, type);
  REQUIRE(reply.has_value());
  REQUIRE(reply->status == 200);
  const auto seen = nlohmann::json::parse(reply->body);
  CHECK(seen.at("size") == body.size());
  CHECK(seen.at("headers").at("content-type") == type);
  CHECK(seen.at("query").empty());
}

TEST_CASE("Large bodies travel in both directions", "[base][http]") {
  HttpServer server({.max_body_bytes = 8 << 20});
  server.handle("/mirror", [](const HttpRequest& request) {
    return HttpReply{200, request.body, "text/plain"};
  });
  REQUIRE(server.start().has_value());
  HttpClient client = make_client(server);
  const std::string body(7 << 20, 'x');
  const auto reply = client.send("POST", "/mirror", {}, body, "text/plain");
  REQUIRE(reply.has_value());
  CHECK(reply->body == body);
}

TEST_CASE("A client that sends Expect: 100-continue gets it", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  const auto leave = GENERATE(values<std::string>({"100-continue", "100-Continue"}));
  socket.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\nExpect: " + leave +
              "\r\n\r\n");
  CHECK(socket.receive_until("\r\n\r\n").starts_with("HTTP/1.1 100"));
  socket.send("{}");
  CHECK(nlohmann::json::parse(reply_body(socket.receive_message())).at("body") == "{}");
}

// It would take the leave for its reply.
TEST_CASE("An HTTP/1.0 client gets no 100-continue", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send("POST /echo HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}");
  const std::string reply = socket.receive_all();
  CHECK(reply_status(reply) == 200);
  CHECK(nlohmann::json::parse(reply_body(reply)).at("body") == "{}");
}

TEST_CASE("An unknown path is 404, or goes to the rest handler", "[base][http]") {
  HttpServer plain({});
  REQUIRE(plain.start().has_value());
  const auto reply = get(plain, "/unknown");
  CHECK(reply.status == 404);
  CHECK(reply.body == "{}");
  CHECK(reply.headers.at("content-type") == "application/json");

  HttpServer caught({});
  add_test_routes(caught);
  caught.handle_rest([](const HttpRequest& request) { return HttpReply{501, request.path}; });
  REQUIRE(caught.start().has_value());
  CHECK(get(caught, "/unknown").body == "/unknown");
  CHECK(get(caught, "/ping/").body == "/ping/");  // paths are exact
  CHECK(get(caught, "/ping%2F").body == "/ping/");
  CHECK(get(caught, "/ping?a=b").body == "pong");
  CHECK(get(caught, "/%0a").status == 501);
}

TEST_CASE("A handler that throws is answered as configured, without its text", "[base][http]") {
  HttpServer server({.internal_error = {200, R"({"success":false})"}});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  const auto reply = get(server, "/throw");
  CHECK(reply.status == 200);
  CHECK(reply.body == R"({"success":false})");
  CHECK(is_served(server));
}

TEST_CASE("A connection is kept from one request to the next, also after a refusal",
          "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  for (const char* path : {"/ping", "/conflict", "/unknown", "/throw", "/ping"}) {
    socket.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
    const std::string reply = socket.receive_message();
    INFO(path);
    CHECK(reply_status(reply) != 0);
    CHECK(reply.find("Connection: close") == std::string::npos);
  }
}

TEST_CASE("Pipelined requests are answered in order", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  const std::string post = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\n";
  socket.send(post + "a" + post + "b" + kPing);
  CHECK(nlohmann::json::parse(reply_body(socket.receive_message())).at("body") == "a");
  CHECK(nlohmann::json::parse(reply_body(socket.receive_message())).at("body") == "b");
  CHECK(reply_body(socket.receive_message()) == "pong");
}

TEST_CASE("The server closes when the caller asks for it", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  const auto request = GENERATE(values<std::string>(
      {"GET /ping HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
       "GET /ping HTTP/1.1\r\nHost: test\r\nConnection: Keep-Alive, CLOSE\r\n\r\n",
       "GET /ping HTTP/1.0\r\n\r\n"}));
  INFO(request);
  auto socket = RawSocket::connect_to(server.port());
  socket.send(request);
  const std::string reply = socket.receive_all();
  CHECK(reply_body(reply) == "pong");
  CHECK(reply.find("Connection: close") != std::string::npos);
}

TEST_CASE("An address that cannot be used is an error", "[base][http]") {
  struct Row {
    std::string listen;
    Code code;
  };
  const auto row = GENERATE(values<Row>({{"127.0.0.1", Code::kInvalid},
                                         {"127.0.0.1:x", Code::kInvalid},
                                         {"127.0.0.1:70000", Code::kInvalid},
                                         {"::1:80", Code::kInvalid},
                                         {"192.0.2.1:0", Code::kInvalid}}));
  INFO("listen " << row.listen);
  HttpServer server({.listen = row.listen});
  const auto started = server.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().code == row.code);
}

TEST_CASE("An address that is taken may be free later", "[base][http]") {
  HttpServer first({});
  REQUIRE(first.start().has_value());
  HttpServer second({.listen = "127.0.0.1:" + std::to_string(first.port())});
  const auto started = second.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().code == Code::kTransient);
}

TEST_CASE("An empty host means all addresses", "[base][http]") {
  HttpServer server({.listen = ":0"});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  CHECK(is_served(server));
}

TEST_CASE("Idle connections do not keep others from being served", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(RawSocket::connect_to(server.port()));
    idle.back().send(kPing);
  }
  for (RawSocket& socket : idle) REQUIRE(reply_body(socket.receive_message()) == "pong");
  CHECK(is_served(server));
  idle.front().send(kPing);  // they are still there
  CHECK(reply_body(idle.front().receive_message()) == "pong");
}

TEST_CASE("Slow senders do not keep others from being served", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(RawSocket::connect_to(server.port()));
    slow.back().send(
        i % 2 == 0 ? "GET /pi" : "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\na");
  }
  CHECK(is_served(server));
}

TEST_CASE("A slow sender is answered 408 and dropped", "[base][http]") {
  HttpServer server({.read_timeout = std::chrono::seconds(1)});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  const auto beginning = GENERATE(values<std::string>(
      {"GET /pi", "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\na"}));
  auto socket = RawSocket::connect_to(server.port());
  socket.send(beginning);
  CHECK(reply_status(socket.receive_all()) == 408);
}

TEST_CASE("An idle connection is closed after the idle time-out", "[base][http]") {
  HttpServer server({.idle_timeout = std::chrono::seconds(1)});
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  CHECK(socket.is_at_end());
}

TEST_CASE("At the connection limit an idle connection is closed for a new one", "[base][http]") {
  HttpServer server({.max_connections = 2});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(RawSocket::connect_to(server.port()));
    idle.back().send(kPing);
    REQUIRE(reply_body(idle.back().receive_message()) == "pong");
  }
  // A connection becomes idle a moment after its reply has arrived: until then none can be closed.
  std::string reply;
  while (reply_status(reply) != 200) {
    auto newcomer = RawSocket::connect_to(server.port());
    newcomer.send(kPing);
    reply = newcomer.receive_message();
  }
  CHECK(reply_body(reply) == "pong");
}

// A handler that stays under way until it is let go.
struct Gate {
  std::latch entered{1};
  std::latch let_go{1};

  HttpHandler handler() {
    return [this](const HttpRequest&) {
      entered.count_down();
      let_go.wait();
      return HttpReply{200, "done", "text/plain"};
    };
  }
};

TEST_CASE("When all connections are busy, a new one waits for one of them", "[base][http]") {
  Gate gate;
  HttpServer server({.max_connections = 1, .queue_timeout = std::chrono::hours(1)});
  add_test_routes(server);
  server.handle("/wait", gate.handler());
  REQUIRE(server.start().has_value());
  auto busy = RawSocket::connect_to(server.port());
  busy.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  gate.entered.wait();

  std::vector<RawSocket> newcomers;
  for (int i = 0; i < 3; ++i) {
    newcomers.push_back(RawSocket::connect_to(server.port()));
    newcomers.back().send(kPing);
  }
  pollfd refused{newcomers.front().fd(), POLLIN, 0};
  CHECK(poll(&refused, 1, 100) == 0);  // it would have been told so by now
  gate.let_go.count_down();
  CHECK(reply_body(busy.receive_message()) == "done");
  // Each is served once the one before it is idle, and is evicted then.
  for (RawSocket& newcomer : newcomers) CHECK(reply_body(newcomer.receive_message()) == "pong");
}

TEST_CASE("When all connections stay busy, a new one gets 503 and is closed", "[base][http]") {
  Gate gate;
  HttpServer server({.max_connections = 1, .queue_timeout = std::chrono::milliseconds(20)});
  server.handle("/wait", gate.handler());
  REQUIRE(server.start().has_value());
  auto busy = RawSocket::connect_to(server.port());
  busy.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  gate.entered.wait();

  for (int i = 0; i < 2; ++i) {
    auto newcomer = RawSocket::connect_to(server.port());
    newcomer.send(kPing);
    const std::string reply = newcomer.receive_all();
    CHECK(reply_status(reply) == 503);
    CHECK(reply.find("Retry-After: 1\r\n") != std::string::npos);
    CHECK(reply_body(reply) == R"({"error":"too many connections"})");
  }
  gate.let_go.count_down();
  CHECK(reply_body(busy.receive_message()) == "done");
}

TEST_CASE("One address cannot take the connections of others", "[base][http]") {
  Gate gate;
  HttpServer server({.max_connections = 4, .max_connections_per_peer = 1});
  add_test_routes(server);
  server.handle("/wait", gate.handler());
  REQUIRE(server.start().has_value());
  auto busy = RawSocket::connect_to(server.port());
  busy.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  gate.entered.wait();
  auto one_more = RawSocket::connect_to(server.port());
  one_more.send(kPing);
  CHECK(reply_status(one_more.receive_all()) == 503);

  auto other = RawSocket::connect_to(server.port(), "127.0.0.2");
  other.send(kPing);
  CHECK(reply_body(other.receive_message()) == "pong");
  gate.let_go.count_down();
}

TEST_CASE("Above its limit an address loses its own idle connection", "[base][http]") {
  HttpServer server({.max_connections = 4, .max_connections_per_peer = 1});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  auto other = RawSocket::connect_to(server.port(), "127.0.0.2");
  other.send(kPing);
  REQUIRE(reply_body(other.receive_message()) == "pong");
  auto idle = RawSocket::connect_to(server.port());
  idle.send(kPing);
  REQUIRE(reply_body(idle.receive_message()) == "pong");
  // It becomes idle a moment after its reply has arrived.
  CHECK(wait_until([&] {
    auto newcomer = RawSocket::connect_to(server.port());
    newcomer.send(kPing);
    return reply_body(newcomer.receive_message()) == "pong";
  }));
  CHECK(idle.is_at_end());
  other.send(kPing);
  CHECK(reply_body(other.receive_message()) == "pong");
}

TEST_CASE("A handler that waits for others frees its slot for a new connection, and is answered",
          "[base][http]") {
  std::latch waits(1);
  HttpServer server({.max_connections = 1, .queue_timeout = std::chrono::hours(1)});
  add_test_routes(server);
  server.handle("/wait", [&](const HttpRequest& request) {
    request.set_waiting(true);
    waits.count_down();
    const bool lost = wait_until([&] { return request.has_lost_place(); });
    request.set_waiting(false);
    return HttpReply{200, lost ? "lost" : "kept", "text/plain"};
  });
  REQUIRE(server.start().has_value());
  auto waiting = RawSocket::connect_to(server.port());
  waiting.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  waits.wait();
  CHECK(is_served(server));
  const std::string reply = waiting.receive_all();
  CHECK(reply_body(reply) == "lost");
  CHECK(reply.find("Connection: close\r\n") != std::string::npos);
}

TEST_CASE("stop does not wait for callers in the queue", "[base][http]") {
  Gate gate;
  HttpServer server({.max_connections = 1, .queue_timeout = std::chrono::hours(1)});
  server.handle("/wait", gate.handler());
  REQUIRE(server.start().has_value());
  auto busy = RawSocket::connect_to(server.port());
  busy.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  gate.entered.wait();
  auto newcomer = RawSocket::connect_to(server.port());
  newcomer.send(kPing);
  std::jthread stopper([&server] { server.stop(); });
  CHECK(newcomer.receive_all().empty());
  gate.let_go.count_down();
  CHECK(reply_body(busy.receive_message()) == "done");
}

TEST_CASE("A reply that may change says when to retry", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  server.handle("/busy", [](const HttpRequest&) { return HttpReply{503, "{}"}; });
  server.handle("/later", [](const HttpRequest&) {
    return HttpReply{503, "{}", "application/json", {{"Retry-After", "7"}}};
  });
  REQUIRE(server.start().has_value());
  CHECK(get(server, "/busy").headers.at("retry-after") == "1");
  CHECK(get(server, "/throw").headers.at("retry-after") == "1");
  CHECK(get(server, "/later").headers.at("retry-after") == "7");
  CHECK_FALSE(get(server, "/conflict").headers.contains("retry-after"));
}

TEST_CASE("Above the high watermark, replies ask callers to close and idle connections are closed",
          "[base][http]") {
  HttpServer server({.max_connections = 100, .high_watermark_percent = 6});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> idle;
  for (int i = 0; i < 6; ++i) {
    idle.push_back(RawSocket::connect_to(server.port()));
    idle.back().send(kPing);
    const std::string reply = idle.back().receive_message();
    CHECK(reply_body(reply) == "pong");
    CHECK(reply.find("Connection: close") == std::string::npos);
  }
  auto seventh = RawSocket::connect_to(server.port());
  seventh.send(kPing);
  CHECK(seventh.receive_all().find("Connection: close") != std::string::npos);
  auto eighth = RawSocket::connect_to(server.port());
  auto ninth = RawSocket::connect_to(server.port());
  // Although there are places. Which one was idle first, the threads decide that answered them.
  const auto has_ended = [](const RawSocket& socket) {
    pollfd readable{socket.fd(), POLLIN, 0};
    return poll(&readable, 1, 0) == 1;
  };
  REQUIRE(wait_until([&] { return std::any_of(idle.begin(), idle.end(), has_ended); }));
  CHECK(std::find_if(idle.begin(), idle.end(), has_ended)->is_at_end());
}

TEST_CASE("At the connection limit the slowest sender is closed for a new connection",
          "[base][http]") {
  HttpServer server({.max_connections = 2, .read_timeout = std::chrono::minutes(10)});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> slow;
  for (const char* beginning :
       {"GET /pi", "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\na"}) {
    slow.push_back(RawSocket::connect_to(server.port()));
    slow.back().send(beginning);
  }
  CHECK(wait_until([&server] {
    auto newcomer = RawSocket::connect_to(server.port());
    newcomer.send(kPing);
    return reply_body(newcomer.receive_message()) == "pong";
  }));
}

TEST_CASE("A refused caller that stays connected is closed for a new connection at once",
          "[base][http]") {
  // A new connection is told 503 if no place becomes free in this time; a refused caller may stay
  // for a second.
  HttpServer server({.max_connections = 1, .queue_timeout = std::chrono::milliseconds(700)});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  const auto sends_on = GENERATE(false, true);
  auto refused = RawSocket::connect_to(server.port());
  refused.send("GET no-slash HTTP/1.1\r\nHost: test\r\n\r\n");
  REQUIRE(reply_status(refused.receive_message()) == 400);
  if (sends_on) refused.send(std::string(100'000, 'x'));
  auto newcomer = RawSocket::connect_to(server.port());
  newcomer.send(kPing);
  CHECK(reply_body(newcomer.receive_message()) == "pong");
}

TEST_CASE("A caller that does not read its reply is dropped", "[base][http]") {
  HttpServer server({.max_connections = 1, .write_timeout = std::chrono::milliseconds(200)});
  add_test_routes(server);
  server.handle("/large", [](const HttpRequest&) {
    return HttpReply{200, std::string(64 << 20, 'x'), "text/plain"};  // more than sockets hold
  });
  REQUIRE(server.start().has_value());
  auto deaf = RawSocket::connect_to(server.port());
  deaf.send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n");
  CHECK(wait_until([&server] {
    auto newcomer = RawSocket::connect_to(server.port());
    newcomer.send(kPing);
    return reply_body(newcomer.receive_message()) == "pong";
  }));
  CHECK(deaf.receive_all().size() < (64U << 20U));
}

TEST_CASE("A reply tells its handler whether it was written", "[base][http]") {
  struct Row {
    std::string when;
    bool leaves;  // the caller, while the handler still works
    std::size_t body_bytes;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"the caller waits for it", false, 10, true},
      {"the caller has left before", true, 10, false},
      {"the caller does not read it", false, 64 << 20, false},  // more than sockets hold
  }));
  INFO("when " << row.when);
  std::promise<bool> reported;
  std::latch asked(1);
  std::latch go_on(1);
  HttpServer server({.write_timeout = std::chrono::milliseconds(200)});
  server.handle("/", [&](const HttpRequest&) {
    asked.count_down();
    go_on.wait();
    HttpReply reply{200, std::string(row.body_bytes, 'x'), "text/plain"};
    reply.on_written = [&reported](bool written) { reported.set_value(written); };
    return reply;
  });
  REQUIRE(server.start().has_value());
  auto caller = RawSocket::connect_to(server.port());
  caller.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
  asked.wait();
  if (row.leaves) caller.close();
  go_on.count_down();
  CHECK(reported.get_future().get() == row.want);
}

// It must not; but one that does may not end the program.
TEST_CASE("An exception in a handler's reply callback does not affect others", "[base][http]") {
  HttpServer server({});
  server.handle("/", [](const HttpRequest&) {
    HttpReply reply{200, "done", "text/plain"};
    reply.on_written = [](bool) { throw std::runtime_error("no"); };
    return reply;
  });
  REQUIRE(server.start().has_value());
  auto caller = RawSocket::connect_to(server.port());
  for (int i = 0; i < 2; ++i) {
    caller.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    CHECK(reply_body(caller.receive_message()) == "done");
  }
}

TEST_CASE("stop closes 200 idle connections without waiting for them", "[base][http]") {
  HttpServer server({.idle_timeout = std::chrono::minutes(10)});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(RawSocket::connect_to(server.port()));
    idle.back().send(kPing);
    REQUIRE(reply_body(idle.back().receive_message()) == "pong");
  }
  server.stop();  // the test would run into its limit otherwise
  for (RawSocket& socket : idle) CHECK(socket.is_at_end());
}

TEST_CASE("stop closes idle connections and refuses new ones", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(RawSocket::connect_to(server.port()));
  idle.front().send(kPing);
  CHECK(reply_body(idle.front().receive_message()) == "pong");

  server.stop();
  for (RawSocket& socket : idle) CHECK(socket.is_at_end());
  CHECK_FALSE(RawSocket::connect_to(server.port()).is_open());
  server.stop();  // a second time does nothing
}

TEST_CASE("stop lets a request under way finish", "[base][http]") {
  Gate gate;
  HttpServer server({});
  server.handle("/wait", gate.handler());
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send("GET /wait HTTP/1.1\r\nHost: test\r\n\r\n");
  gate.entered.wait();

  std::jthread stopper([&server] { server.stop(); });
  while (RawSocket::connect_to(server.port()).is_open()) {  // until stop() has come so far
  }
  gate.let_go.count_down();
  const std::string reply = socket.receive_all();
  CHECK(reply_body(reply) == "done");
  CHECK(reply.find("Connection: close") != std::string::npos);
}

TEST_CASE("A caller that waits for its reply does not count as gone when the server stops",
          "[base][http]") {
  HttpServer server({});
  std::latch in_handler(1);
  std::latch stopping(1);
  bool left = true;
  bool written = false;
  server.handle("/slow", [&](const HttpRequest& request) {
    in_handler.count_down();
    stopping.wait();
    left = request.has_caller_left();
    HttpReply reply{200, R"({"slow":true})"};
    reply.on_written = [&](bool whole) { written = whole; };
    return reply;
  });
  REQUIRE(server.start().has_value());
  auto waiting = RawSocket::connect_to(server.port());
  waiting.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n");
  in_handler.wait();
  auto sending = RawSocket::connect_to(server.port());
  sending.send("GET /slow HTTP/1.1\r\n");
  {
    const std::jthread stop([&] { server.stop(); });
    sending.receive_all();  // ends when stop() waits for no more requests
    stopping.count_down();
    CHECK(reply_status(waiting.receive_all()) == 200);
  }
  CHECK_FALSE(left);
  CHECK(written);
}

TEST_CASE("stop waits neither for requests nor for replies that do not end", "[base][http]") {
  HttpServerOptions options;
  options.read_timeout = options.write_timeout = std::chrono::hours(1);  // the test would time out
  HttpServer server(options);
  std::latch answered(1);
  server.handle("/large", [&answered](const HttpRequest&) {
    answered.count_down();
    return HttpReply{200, std::string(64 << 20, 'x')};
  });
  REQUIRE(server.start().has_value());
  auto half = RawSocket::connect_to(server.port());
  half.send("POST /large HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12345");
  auto unread = RawSocket::connect_to(server.port());
  unread.send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n");
  answered.wait();
  server.stop();
}

TEST_CASE("stop before start, and no stop at all, are fine", "[base][http]") {
  HttpServer never_started({});
  never_started.stop();
  HttpServer not_stopped({});
  CHECK(not_stopped.start().has_value());
}

TEST_CASE("Many callers at once all get their own answer", "[base][http]") {
  HttpServer server({});
  add_test_routes(server);
  REQUIRE(server.start().has_value());
  HttpClient client = make_client(server);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&client, &right, caller] {
        for (int i = 0; i < 50; ++i) {
          const std::string body = std::to_string(caller) + "/" + std::to_string(i);
          const auto reply = client.send("POST", "/echo", {}, body, "text/plain");
          if (reply && nlohmann::json::parse(reply->body).at("body") == body) ++right;
        }
      });
    }
  }
  CHECK(right == 400);
}

TEST_CASE("Read-only paths refuse other methods", "[base][http]") {
  HttpServer server({});
  server.handle_get("/here", [](const HttpRequest&) { return HttpReply{200, "ok"}; });
  REQUIRE(server.start().has_value());
  HttpClient client = make_client(server);
  const std::string path = "/here";
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    INFO(method << " " << path);
    const auto reply = client.send(method, path, {}, "", "");
    REQUIRE(reply.has_value());
    CHECK(reply->status == 405);
    CHECK(reply->headers.at("allow") == "GET, HEAD");
  }
  auto socket = RawSocket::connect_to(server.port());
  socket.send("HEAD " + path + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
  const std::string reply = socket.receive_all();
  CHECK(reply_status(reply) == 200);
  CHECK(reply.find("Content-Length: 2\r\n") != std::string::npos);  // of what GET would have got
  CHECK(reply_body(reply).empty());
}

}  // namespace
}  // namespace nervex
