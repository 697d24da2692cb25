#include "base/http/client.h"

#include <atomic>
#include <latch>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/mutex.h"
#include "base/net/address.h"
#include "tests/base/raw_socket.h"

namespace nervex {
namespace {

using test::RawServer;
using test::RawSocket;

constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

Result<HttpResponse> get(HttpClient& client) { return client.send("GET", "/", {}, "", ""); }

// Everything that a server received, from its thread to the test's.
class Transcript {
 public:
  void add(std::string message) {
    const MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
  }
  std::vector<std::string> messages() {
    const MutexLock lock(mutex_);
    return messages_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> messages_ GUARDED_BY(mutex_);
};

TEST_CASE("A client sends exactly what its caller passed", "[base][http]") {
  Transcript transcript;
  RawServer server([&](RawSocket& socket) {
    transcript.add(socket.receive_message());
    socket.send(kOk);
  });
  HttpClient client({.url = server.url()});
  const std::string body(100'000, 'x');  // from 1 kB on, httplib would ask for leave
  REQUIRE(client.send("PATCH", "/a%2Fb?c=d%3De&f=g", {{"Accept", "a"}, {"X-Y", "z"}}, body, "t/u")
              .has_value());
  const std::string sent = transcript.messages().at(0);
  CHECK(sent.starts_with("PATCH /a%2Fb?c=d%3De&f=g HTTP/1.1\r\n"));
  for (const std::string header : {"Accept: a", "X-Y: z", "Content-Type: t/u",
                                   "Content-Length: 100000", "Accept-Encoding: identity"}) {
    INFO(header);
    CHECK(sent.find("\r\n" + header + "\r\n") != std::string::npos);
  }
  CHECK(sent.find("Expect") == std::string::npos);
  CHECK(sent.ends_with("\r\n\r\n" + body));
}

TEST_CASE("A reply is returned for every status code", "[base][http]") {
  const auto status = GENERATE(values<int>({200, 201, 301, 302, 400, 404, 409, 422, 500, 503}));
  RawServer server([status](RawSocket& socket) {
    socket.receive_message();
    socket.send("HTTP/1.1 " + std::to_string(status) +
                " Text\r\nLocation: http://127.0.0.1:1/\r\nRetry-After: 7\r\n"
                "Content-Length: 2\r\n\r\nok");
  });
  HttpClient client({.url = server.url()});
  const auto reply = get(client);
  REQUIRE(reply.has_value());
  CHECK(reply->status == status);
  CHECK(reply->headers.at("retry-after") == "7");
  CHECK(reply->body == "ok");
  CHECK(server.connections() == 1);  // redirects are not followed
}

TEST_CASE("A reply ends by content-length, chunks or a closed connection", "[base][http]") {
  struct Row {
    std::string when;
    std::string reply;
    std::string body;
  };
  const auto row = GENERATE(values<Row>({
      {"it is chunked",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
       "abc"},
      {"the server closes", "HTTP/1.1 200 OK\r\n\r\nabc", "abc"},
      {"there is none", "HTTP/1.1 204 No Content\r\n\r\n", ""},
      {"it is empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
      {"it is not modified", "HTTP/1.1 304 Not Modified\r\n\r\n", ""},
  }));
  INFO("when " << row.when);
  RawServer server([&row](RawSocket& socket) {
    socket.receive_message();
    socket.send(row.reply);
  });
  HttpClient client({.url = server.url()});
  const auto reply = get(client);
  REQUIRE(reply.has_value());
  CHECK(reply->body == row.body);
}

TEST_CASE("One connection serves request after request", "[base][http]") {
  RawServer server([](RawSocket& socket) {
    while (!socket.receive_message().empty()) socket.send(kOk);
  });
  {
    HttpClient client({.url = server.url()});
    for (int i = 0; i < 5; ++i) CHECK(get(client)->body == "ok");
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("A connection is not reused after a reply that forbids it", "[base][http]") {
  const auto reply = GENERATE(
      values<std::string>({"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
                           "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
                           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more"}));
  INFO(reply);
  RawServer server([&reply](RawSocket& socket) {
    socket.receive_message();
    socket.send(reply);
    socket.receive_message();
  });
  {
    HttpClient client({.url = server.url()});
    CHECK(get(client)->body == "ok");
    CHECK(get(client)->body == "ok");
  }
  CHECK(server.connections() == 2);
}

TEST_CASE("A kept connection that the server closed is replaced transparently", "[base][http]") {
  std::latch closed(1);
  RawServer server([&closed](RawSocket& socket) {
    socket.receive_message();
    socket.send(kOk);
    socket.close();
    if (!closed.try_wait()) closed.count_down();
  });
  HttpClient client({.url = server.url()});
  CHECK(get(client)->body == "ok");
  closed.wait();
  CHECK(get(client)->body == "ok");
  CHECK(server.connections() == 2);
}

TEST_CASE("A request whose connection broke is not repeated", "[base][http]") {
  struct Row {
    std::string when;
    std::string reply;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing was answered", ""},
      {"the head is cut", "HTTP/1.1 200 OK\r\nContent-Le"},
      {"the body is cut", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok"},
      {"a chunk is cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok"},
      {"the reply is no HTTP", "hello\r\n\r\n"},
  }));
  INFO("when " << row.when);
  Transcript transcript;
  {
    RawServer server([&](RawSocket& socket) {
      transcript.add(socket.receive_message());
      socket.send(row.reply);
    });
    HttpClient client({.url = server.url()});
    const auto reply = client.send("POST", "/", {}, "{}", "application/json");
    REQUIRE_FALSE(reply.has_value());
    INFO(reply.error().message);
    CHECK(reply.error().code == Code::kTransient);
  }
  CHECK(transcript.messages().size() == 1);
}

TEST_CASE("A call to a server that does not answer times out", "[base][http]") {
  const auto beginning =
      GENERATE(values<std::string>({"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok"}));
  RawServer* self = nullptr;
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    socket.send(beginning);
    self->wait_for_end();
  });
  self = &server;
  HttpClient client({.url = server.url(), .read_timeout = std::chrono::seconds(1)});
  const auto reply = get(client);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error() == Error{Code::kTransient, "GET " + server.url() + "/: timed out"});
}

TEST_CASE("A refused connection is a transient error", "[base][http]") {
  HttpClient client({.url = "http://127.0.0.1:" + std::to_string(test::unused_port())});
  const auto reply = get(client);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Code::kTransient);
  CHECK(reply.error().message.ends_with("connect to 127.0.0.1: Connection refused"));
}

TEST_CASE("Every call with a malformed URL returns an error", "[base][http]") {
  const auto url =
      GENERATE(values<std::string>({"", "127.0.0.1:80", "ftp://host", "http://", "http://host:port",
                                    "http://host/path", "http://a b", "http://::1:80"}));
  INFO("url " << url);
  HttpClient client({.url = url});
  const auto reply = get(client);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Code::kInvalid);
}

TEST_CASE("Callers cannot smuggle a second request into theirs", "[base][http]") {
  HttpClient client({.url = "http://127.0.0.1:" + std::to_string(test::unused_port())});
  for (const std::string path : {"", "a", "/ HTTP/1.1\r\nA: b", "/a b", "/\n"}) {
    INFO("path " << path);
    const auto reply = client.send("GET", path, {}, "", "");
    REQUIRE_FALSE(reply.has_value());
    CHECK(reply.error().code == Code::kInvalid);
  }

  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"A", "b\r\nC: d"}, {"A\r\nB", "c"}, {"A: b", "c"}, {"", "a"}}) {
    INFO("header " << name);
    const auto reply = client.send("GET", "/", {{name, value}}, "", "");
    REQUIRE_FALSE(reply.has_value());
    CHECK(reply.error().code == Code::kInvalid);
  }
}

TEST_CASE("No more connections are open at once than the pool's limit", "[base][http]") {
  // The server talks to one connection at a time: with a second one open, nothing would move.
  RawServer server([](RawSocket& socket) {
    while (!socket.receive_message().empty()) socket.send(kOk);
  });
  std::atomic<int> answered = 0;
  {
    HttpClient client({.url = server.url(), .pool_size = 1});
    std::vector<std::jthread> callers;
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&] {
        for (int call = 0; call < 10; ++call) answered += get(client).has_value() ? 1 : 0;
      });
    }
    callers.clear();
  }
  CHECK(answered == 80);
  CHECK(server.connections() == 1);
}

TEST_CASE("Addresses and URLs are read strictly", "[base][http]") {
  CHECK(*parse_host_port("[::1]:80") == HostPort{"::1", 80});
  CHECK(*parse_host_port(":80") == HostPort{"", 80});
  CHECK(*parse_host_port("a.b:0") == HostPort{"a.b", 0});
  CHECK(to_string(HostPort{"::1", 80}) == "[::1]:80");
  CHECK(*parse_server_url("https://a") == ServerUrl{true, {"a", 443}});
  CHECK(*parse_server_url("http://a/") == ServerUrl{false, {"a", 80}});
  CHECK(*parse_server_url("https://[fd00::1]:6443") == ServerUrl{true, {"fd00::1", 6443}});
  CHECK(*parse_server_url("https://[fd00::1]") == ServerUrl{true, {"fd00::1", 443}});
  for (const char* text :
       {"", "a", "a:", ":", "a:-1", "a:1x", "a:65536", "[]:1", "[a]:1", "a/b:1"}) {
    INFO("address " << text);
    const bool is_address = parse_host_port(text).has_value();
    CHECK_FALSE(is_address);
  }
}

}  // namespace
}  // namespace nervex
