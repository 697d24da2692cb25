#include <atomic>
#include <fstream>
#include <latch>
#include <random>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "base/http/server.h"
#include "tests/base/raw_socket.h"
#include "tests/support/wait_until.h"

namespace nervex {
namespace {

using test::RawSocket;
using test::reply_body;
using test::reply_status;

constexpr const char* kGood = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n";

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string post_with(const std::string& headers, const std::string& body = "") {
  return "POST / HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n" + body;
}

std::size_t resident_bytes() {
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct HostileRow {
  std::string when;
  std::string request;
  int status;
};

// Requests that arrive in one piece and look complete to the client.
const std::vector<HostileRow>& hostile_requests() {
  static const std::vector<HostileRow> rows{
      {"the URI is too long", "GET /" + repeated("a", 1024) + " HTTP/1.1\r\nHost: test\r\n\r\n",
       414},
      {"the request line has no end", "GET /" + repeated("a", 20'000), 414},
      {"there are too many headers", post_with(repeated("A: b\r\n", 200)), 400},
      {"a header has no end", "GET / HTTP/1.1\r\nHost: test\r\nA: " + repeated("b", 20'000), 431},
      {"there is a flood of headers", "GET / HTTP/1.1\r\n" + repeated("A: b\r\n", 50'000), 400},
      {"the method is unknown", "BREW / HTTP/1.1\r\nHost: test\r\n\r\n", 400},
      {"it asks for a proxy", "CONNECT test:1 HTTP/1.1\r\nHost: test\r\n\r\n", 501},
      {"it asks for a proxy in the URI", "GET http://other/ HTTP/1.1\r\nHost: test\r\n\r\n", 400},
      {"it is HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"the version is unknown", "GET / HTTP/3.0\r\nHost: test\r\n\r\n", 400},
      {"it is HTTP/0.9", "GET /\r\n\r\n", 400},
      {"the URI holds a space", "GET /a b HTTP/1.1\r\nHost: test\r\n\r\n", 400},
      {"the URI holds bytes beyond ASCII", "GET /\xff HTTP/1.1\r\nHost: test\r\n\r\n", 400},
      {"it is the beginning of a TLS handshake", "\x16\x03\x01\x02\x01\x01", 400},
      {"it is noise", std::string("\0\0\0\0", 4), 400},
      {"the host is missing", "GET / HTTP/1.1\r\n\r\n", 400},
      {"the host is given twice", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"a line ends without a carriage return", "GET / HTTP/1.1\nHost: test\r\n\r\n", 400},
      {"no line ends with a carriage return", "GET / HTTP/1.1\nHost: test\n\n", 400},
      {"the last line ends without a carriage return", "GET / HTTP/1.1\r\nHost: test\r\n\n", 400},
      {"it is a line feed", "\n", 400},
      {"the request line ends without a carriage return, and nothing follows", "GET / HTTP/1.1\n",
       400},
      {"a header ends without a carriage return", post_with("A: b\nC: d\r\n"), 400},
      {"a header is folded", post_with("A: b\r\n c\r\n"), 400},
      {"a blank stands before the colon", post_with("Content-Length : 0\r\n"), 400},
      {"a header has no colon", post_with("nonsense\r\n"), 400},
      {"a header has no name", post_with(": b\r\n"), 400},
      {"a header holds a NUL", post_with(std::string("A: b\0c\r\n", 8)), 400},
      {"the length is negative", post_with("Content-Length: -1\r\n"), 400},
      {"the length is signed", post_with("Content-Length: +2\r\n", "{}"), 400},
      {"the length is no number", post_with("Content-Length: two\r\n"), 400},
      {"the length is empty", post_with("Content-Length:\r\n"), 400},
      // The library would read it as 2, and a proxy before us as nothing that it knows.
      {"the length is encoded", post_with("content-LENGTH : %32\r\n", "{}"), 400},
      {"a digit of the length is encoded", post_with("Content-Length: 1%30\r\n", "0123456789"),
       400},
      {"the length is a list", post_with("Content-Length: 2, 2\r\n", "{}"), 400},
      {"the length overflows", post_with("Content-Length: 99999999999999999999999\r\n"), 413},
      {"the body is too large", post_with("Content-Length: 1001\r\n"), 413},
      {"there are two lengths", post_with("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), 400},
      {"the length is zero, and the body chunked",
       post_with("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 411},
      {"the body has a length, and is chunked",
       post_with("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"the body is chunked", post_with("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
       411},
      {"the body is chunked twice",
       post_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"the transfer is compressed", post_with("Transfer-Encoding: gzip, chunked\r\n"), 411},
      {"the transfer encoding is misspelt", post_with("Transfer-Encoding: xchunked\r\n"), 411},
      {"the transfer encoding is encoded", post_with("Transfer-Encoding: %63hunked\r\n"), 411},
      {"the body is compressed", post_with("Content-Length: 2\r\nContent-Encoding: gzip\r\n"), 415},
      {"the body is encoded as itself", post_with("Content-Encoding: identity\r\n"), 415},
      {"something else is expected", post_with("Expect: tea\r\n"), 417},
      {"the body is a form in parts, without a length",
       post_with("Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n",
                 "0\r\n\r\n"),
       411},
      {"a part of the reply is asked for in words", post_with("Range: pages=3-x\r\n"), 416},
      {"the types asked for are malformed", post_with("Accept: text/html;q=2.5,,;\r\n"), 400},
      {"it asks for itself", "TRACE / HTTP/1.1\r\nHost: test\r\n\r\n", 501},
      {"another host is named, too",
       post_with("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), 400},
  };
  return rows;
}

TEST_CASE("A hostile request gets a clear answer, and the next one is served",
          "[base][http][hostile]") {
  HttpServer server({.max_body_bytes = 1000});
  std::atomic<int> handled = 0;
  server.handle("/", [&handled](const HttpRequest& request) {
    ++handled;
    return HttpReply{200, request.body, "text/plain"};
  });
  REQUIRE(server.start().has_value());

  const auto row = GENERATE(from_range(hostile_requests()));
  INFO("when " << row.when);
  auto socket = RawSocket::connect_to(server.port());
  socket.send(row.request);
  const std::string reply = socket.receive_all();  // so it is closed, too
  CHECK(reply_status(reply) == row.status);
  CHECK(reply.find("Connection: close") != std::string::npos);
  CHECK(reply_body(reply).starts_with(R"({"error":")"));
  CHECK(handled == 0);

  auto next = RawSocket::connect_to(server.port());
  next.send(kGood + std::string("{}"));
  CHECK(reply_body(next.receive_message()) == "{}");
}

TEST_CASE("A body shorter than its length says never reaches a handler", "[base][http][hostile]") {
  HttpServer server({});
  std::atomic<int> handled = 0;
  server.handle("/", [&handled](const HttpRequest&) {
    ++handled;
    return HttpReply{};
  });
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send(post_with("Content-Length: 10\r\n", "{}"));
  socket.finish_sending();
  CHECK(reply_status(socket.receive_all()) == 400);
  CHECK(handled == 0);
}

TEST_CASE("A body longer than its length says is no part of the request", "[base][http][hostile]") {
  HttpServer server({});
  server.handle("/", [](const HttpRequest& request) {
    return HttpReply{200, request.body, "text/plain"};
  });
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send(post_with("Content-Length: 2\r\n", "{}{\"more\":1}\r\n\r\n"));
  CHECK(reply_body(socket.receive_message()) == "{}");
  CHECK(reply_status(socket.receive_all()) == 400);  // the following bytes count as a request
}

// The library would read the body all the same, to find the next request behind it, and takes its
// sizes as strtoul reads numbers.
TEST_CASE("A request with an unsupported encoding is refused before its body is read",
          "[base][http][hostile]") {
  HttpServerOptions options;
  options.read_timeout = std::chrono::hours(1);  // the test would time out
  HttpServer server(options);
  REQUIRE(server.start().has_value());
  struct Encoded {
    std::string headers;
    int status;
  };
  const auto row = GENERATE(values<Encoded>({
      {"Transfer-Encoding: chunked\r\n", 411},
      {"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", 411},
      {"Content-Encoding: gzip\r\nContent-Length: 100\r\n", 415},
      {"Content-Encoding: gzip\r\nContent-Length: 100\r\nExpect: 100-continue\r\n", 415},
  }));
  INFO(row.headers);
  auto socket = RawSocket::connect_to(server.port());
  socket.send(post_with(row.headers));  // and nothing of the body
  const std::string reply = socket.receive_all();
  CHECK(reply_status(reply) == row.status);
  CHECK(reply.find("Connection: close") != std::string::npos);
}

// The library would wait for the end of the connection.
TEST_CASE("A request without a length is answered at once, and the next one after it",
          "[base][http][hostile]") {
  HttpServerOptions options;
  options.read_timeout = std::chrono::hours(1);
  HttpServer server(options);
  server.handle("/", [](const HttpRequest& request) {
    return HttpReply{200, request.method + request.body, "text/plain"};
  });
  REQUIRE(server.start().has_value());
  const auto method = GENERATE(values<std::string>({"POST", "DELETE", "PUT", "PATCH", "GET"}));
  const std::string request = method + " / HTTP/1.1\r\nHost: test\r\n\r\n";
  auto socket = RawSocket::connect_to(server.port());
  for (int i = 0; i < 2; ++i) {
    socket.send(request);
    CHECK(reply_body(socket.receive_message()) == method);
  }
  socket.send(request + request);  // sent ahead
  CHECK(reply_body(socket.receive_message()) == method);
  CHECK(reply_body(socket.receive_message()) == method);
}

TEST_CASE("Odd but harmless requests are served", "[base][http][hostile]") {
  HttpServer server({});
  server.handle("/", [](const HttpRequest&) { return HttpReply{200, "whole body", "text/plain"}; });
  REQUIRE(server.start().has_value());
  struct Harmless {
    std::string when;
    std::string request;
  };
  const auto row = GENERATE(values<Harmless>({
      {"part of the reply is asked for", post_with("Range: bytes=0-1\r\n")},
      {"many parts are asked for", post_with("Range: bytes=" + repeated("0-0,", 300) + "0-0\r\n")},
      {"the types asked for have parameters",
       post_with("Accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                 "text/plain;version=0.0.4;q=0.3,*/*;q=0.1\r\n")},
      {"a compressed reply is asked for", post_with("Accept-Encoding: gzip, br\r\n")},
      {"a web socket is asked for",
       post_with("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")},
      {"a value is empty", post_with("A:\r\n")},
      {"a name begins like that of the length", post_with("Content-Length-Of: 10%\r\n")},
      {"a value holds UTF-8", post_with("A: \xe4\xbd\xa0\r\n")},
      {"an encoding is empty", post_with("Accept-Encoding:\r\n")},
      {"a POST has no length", post_with("")},
      {"the query is odd", "GET /?&&=&a&%zz=%&b=%00 HTTP/1.1\r\nHost: test\r\n\r\n"},
  }));
  INFO("when " << row.when);
  auto socket = RawSocket::connect_to(server.port());
  socket.send(row.request);
  const std::string reply = socket.receive_message();
  CHECK(reply_status(reply) == 200);
  CHECK(reply_body(reply) == "whole body");
}

TEST_CASE("Data after a refused request never reaches a handler", "[base][http][hostile]") {
  HttpServer server({.max_body_bytes = 1000});
  std::atomic<int> handled = 0;
  const auto count = [&handled](const HttpRequest&) {
    ++handled;
    return HttpReply{};
  };
  server.handle("/", count);
  server.handle_rest(count);
  REQUIRE(server.start().has_value());

  const auto row = GENERATE(from_range(hostile_requests()));
  INFO("when " << row.when);
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n";
  auto socket = RawSocket::connect_to(server.port());
  // Once as it is, and once behind the body that the request may have had.
  socket.send(row.request + smuggled + "\r\n\r\n0\r\n\r\n" + smuggled);
  const std::string replies = socket.receive_all();
  CHECK(reply_status(replies) >= 400);
  CHECK(replies.find("}HTTP/1.1") == std::string::npos);  // one reply, and then the end
  CHECK(handled == 0);
}

TEST_CASE("A body that is too long is refused without 100-continue", "[base][http][hostile]") {
  HttpServer server({.max_body_bytes = 1000});
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send(post_with("Expect: 100-continue\r\nContent-Length: 1001\r\n"));
  CHECK(reply_status(socket.receive_all()) == 413);  // and no 100 before it
}

TEST_CASE("A program defines the replies to refused requests", "[base][http][hostile]") {
  HttpServer server(
      {.max_body_bytes = 1000, .refusal = [](int status, const std::string& reason) {
         return HttpReply{
             status == 413 ? 200 : status, "<" + reason + ">", "text/x-test", {{"X-Test", "yes"}}};
       }});
  REQUIRE(server.start().has_value());
  struct Shaped {
    std::string request;
    int status;
    std::string body;
  };
  const auto row = GENERATE(values<Shaped>({
      {"GET /\r\n\r\n", 400, "<the request is malformed>"},
      {post_with("Content-Length: 1001\r\n"), 200, "<the body is larger than 1000 bytes>"},
      {post_with("Transfer-Encoding: chunked\r\n", "zz\r\n"), 411,
       "<header transfer-encoding is not accepted: send content-length>"},
      {post_with("A: " + repeated("b", 20'000)), 431, "<the head is too large>"},
  }));
  INFO(row.request);
  auto socket = RawSocket::connect_to(server.port());
  socket.send(row.request);
  const std::string reply = socket.receive_all();
  CHECK(reply_status(reply) == row.status);
  CHECK(reply_body(reply) == row.body);
  CHECK(reply.find("Content-Type: text/x-test\r\n") != std::string::npos);
  CHECK(reply.find("Content-Length: ") != std::string::npos);
  CHECK(reply.find("X-Test: yes\r\n") != std::string::npos);
  CHECK(reply.find("Connection: close\r\n") != std::string::npos);
}

TEST_CASE("Large bodies from one address leave capacity for those from others",
          "[base][http][hostile]") {
  constexpr std::size_t kLarge = 600 << 10;
  const std::string large =
      "Content-Length: " + std::to_string(kLarge) + "\r\n\r\n" + std::string(kLarge, 'x');
  std::latch entered(1);
  std::latch let_go(1);
  HttpServer server({.max_connections_per_peer = 8,
                     .max_body_bytes = 1 << 20,
                     .max_bytes_in_flight = std::size_t{1'500} << 10U});
  server.handle("/", [](const HttpRequest& request) {
    return HttpReply{200, std::to_string(request.body.size()), "text/plain"};
  });
  server.handle("/held", [&](const HttpRequest&) {
    entered.count_down();
    let_go.wait();
    return HttpReply{200, "done"};
  });
  REQUIRE(server.start().has_value());
  auto first = RawSocket::connect_to(server.port());
  first.send("POST /held HTTP/1.1\r\nHost: test\r\n" + large);
  entered.wait();

  auto second = RawSocket::connect_to(server.port());
  second.send("POST / HTTP/1.1\r\nHost: test\r\n" + large);
  CHECK(reply_status(second.receive_message()) == 503);
  CHECK(testing::wait_until([&] {  // what was refused is given back a moment after its reply
    auto other = RawSocket::connect_to(server.port(), "127.0.0.2");
    other.send("POST / HTTP/1.1\r\nHost: test\r\n" + large);
    return reply_body(other.receive_message()) == std::to_string(kLarge);
  }));
  let_go.count_down();
  CHECK(reply_body(first.receive_message()) == "done");
}

TEST_CASE("Large bodies share a budget; small ones are always taken", "[base][http][hostile]") {
  constexpr std::size_t kLarge = 600 << 10;
  const std::string large =
      "Content-Length: " + std::to_string(kLarge) + "\r\n\r\n" + std::string(kLarge, 'x');
  std::latch entered(1);
  std::latch let_go(1);
  HttpServer server({.max_body_bytes = 1 << 20, .max_bytes_in_flight = 1 << 20});
  server.handle("/", [](const HttpRequest& request) {
    return HttpReply{200, std::to_string(request.body.size()), "text/plain"};
  });
  server.handle("/held", [&](const HttpRequest&) {
    entered.count_down();
    let_go.wait();
    return HttpReply{200, "done"};
  });
  REQUIRE(server.start().has_value());
  auto first = RawSocket::connect_to(server.port());
  first.send("POST /held HTTP/1.1\r\nHost: test\r\n" + large);
  entered.wait();  // from here on until it is answered its body takes its share

  auto second = RawSocket::connect_to(server.port());
  second.send("POST / HTTP/1.1\r\nHost: test\r\n" + large);
  CHECK(reply_status(second.receive_message()) == 503);
  auto small = RawSocket::connect_to(server.port());
  small.send(post_with("Content-Length: 2\r\n", "{}"));
  CHECK(reply_body(small.receive_message()) == "2");

  let_go.count_down();
  CHECK(reply_body(first.receive_message()) == "done");
  CHECK(testing::wait_until([&] {  // what is done frees capacity
    auto next = RawSocket::connect_to(server.port());
    next.send("POST / HTTP/1.1\r\nHost: test\r\n" + large);
    return reply_body(next.receive_message()) == std::to_string(kLarge);
  }));
}

TEST_CASE("Memory is reserved for received bytes, not for the announced length",
          "[base][http][hostile]") {
  HttpServer server({.max_body_bytes = 7 << 20});
  REQUIRE(server.start().has_value());
  const std::size_t before = resident_bytes();
  std::vector<RawSocket> liars;
  for (int i = 0; i < 200; ++i) {
    liars.push_back(RawSocket::connect_to(server.port()));
    liars.back().send(post_with("Content-Length: 7000000\r\n", std::string(1000, 'x')));
  }
  auto next = RawSocket::connect_to(server.port());
  next.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
  CHECK(reply_status(next.receive_message()) == 404);
#if defined(__SANITIZE_THREAD__)
  constexpr std::size_t kMost = 800 << 20;  // the sanitizer keeps several bytes for each of ours
#else
  constexpr std::size_t kMost = 100 << 20;
#endif
  CHECK(resident_bytes() - std::min(before, resident_bytes()) < kMost);  // not 1.4 GB
}

TEST_CASE("A target is split and decoded", "[base][http]") {
  using Query = std::multimap<std::string, std::string>;
  struct Split {
    std::string target;
    std::string path;
    Query query;
  };
  const auto row = GENERATE(values<Split>({
      {"/", "/", {}},
      {"/a?", "/a", {}},
      {"/a#b?c=d", "/a", {}},
      {"/a%2Fb+c?d+e=f%20g", "/a/b+c", {{"d e", "f g"}}},
      {"/?a=1&a=2&a=2&&b&=c&d==e", "/", {{"a", "1"}, {"a", "2"}, {"b", ""}, {"d", "=e"}}},
      {"/%?%zz=%4", "/%", {{"%zz", "%4"}}},
      {"/%-1%+1%0x", "/%-1%+1%0x", {}},
      {"*", "*", {}},
  }));
  INFO(row.target);
  HttpServer server({});
  HttpRequest seen;
  server.handle_rest([&seen](const HttpRequest& request) {
    seen = request;
    return HttpReply{};
  });
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send("GET " + row.target + " HTTP/1.1\r\nHost: test\r\n\r\n");
  CHECK(reply_status(socket.receive_message()) == 200);
  server.stop();
  CHECK(seen.path == row.path);
  CHECK(seen.query == row.query);
}

TEST_CASE("A reply's headers cannot be split by repeated request data", "[base][http]") {
  HttpServer server({});
  server.handle("/", [](const HttpRequest& request) {
    return HttpReply{200,
                     "body",
                     "text/plain\r\nEvil: 1",
                     {{"Allow", "GET"},
                      {"Bad", "a\r\nEvil: 1"},
                      {"Echo", *find_header(request.headers, "x-evil")},
                      {"C d", "Evil"}}};
  });
  REQUIRE(server.start().has_value());
  auto socket = RawSocket::connect_to(server.port());
  socket.send("GET / HTTP/1.1\r\nHost: test\r\nX-Evil: a%0d%0aEvil: 1\r\n\r\n");
  const std::string reply = socket.receive_message();
  CHECK(reply_status(reply) == 200);
  CHECK(reply.find("Evil") == std::string::npos);
  CHECK(reply.find("Allow: GET\r\n") != std::string::npos);
  CHECK(reply_body(reply) == "body");
}

TEST_CASE("A server survives every change of a request's bytes", "[base][http][property]") {
  const auto seed = GENERATE(take(300, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  HttpServer server({});
  std::atomic<bool> sound = true;
  server.handle_rest([&sound](const HttpRequest& request) {
    for (const auto& [name, value] : request.headers) {
      if (name.find_first_of(" \t\r\n:") != std::string::npos) sound = false;
    }
    if (request.body.size() > 2) sound = false;
    return HttpReply{};
  });
  REQUIRE(server.start().has_value());
  std::string bytes =
      "POST /a?b=c HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}";
  for (int i = 0; i < 3; ++i) bytes[rng() % bytes.size()] = static_cast<char>(rng());
  auto socket = RawSocket::connect_to(server.port());
  socket.send(bytes);
  socket.finish_sending();
  const std::string replies = socket.receive_all();
  CHECK((replies.empty() || replies.starts_with("HTTP/1.1 ")));
  CHECK(sound);
}

}  // namespace
}  // namespace nervex
