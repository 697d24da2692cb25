#include <atomic>
#include <map>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/http/client.h"
#include "base/http/server.h"
#include "base/net/connection.h"
#include "tests/base/certs.h"
#include "tests/base/raw_socket.h"
#include "tests/support/wait_until.h"

namespace nervex {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::RawSocket;
using test::TestCa;
using test::TestFiles;
using test::TestIdentity;
using testing::wait_until;

HttpReply mirror(const HttpRequest& request) { return HttpReply{200, request.body, "text/plain"}; }

// A TLS server on loopback with a certificate of `ca`.
class TlsServer {
 public:
  TlsServer(const TestCa& ca, const std::vector<std::string>& names) : TlsServer(ca.issue(names)) {}
  explicit TlsServer(const TestIdentity& identity)
      : server_({.tls = TlsFiles{files_.add("tls.crt", identity.cert),
                                 files_.add("tls.key", identity.key)},
                 .max_body_bytes = 8 << 20}) {
    server_.handle("/mirror", mirror);
    REQUIRE(server_.start().has_value());
  }

  int port() const { return server_.port(); }
  std::string url(const std::string& host) const {
    return "https://" + host + ":" + std::to_string(port());
  }

 private:
  TestFiles files_;
  HttpServer server_;
};

Result<HttpResponse> call(const HttpClientOptions& options, const std::string& body = "hello") {
  HttpClient client(options);
  return client.send("POST", "/mirror", {}, body, "text/plain");
}

TEST_CASE("Client and server talk over TLS", "[base][tls]") {
  const TestCa ca;
  const TlsServer server(ca, {"IP:127.0.0.1"});
  HttpClient client({.url = server.url("127.0.0.1"), .ca = ca.pem()});
  for (const std::size_t size : {0UL, 1UL, 4'000UL, 5'000'000UL}) {
    const std::string body(size, 'x');
    const auto reply = client.send("POST", "/mirror", {}, body, "text/plain");
    REQUIRE(reply.has_value());
    CHECK(reply->body == body);
  }
}

TEST_CASE("A client verifies the server's certificate", "[base][tls]") {
  enum class Trusting { kIssuer, kBoth, kOther, kSystem };
  struct Row {
    std::string when;
    Trusting trusting;
    std::string server_name;
    bool trusted;
  };
  const auto row = GENERATE(values<Row>({
      {"its name is as expected", Trusting::kIssuer, "server.test", true},
      {"its name matches a wildcard", Trusting::kIssuer, "a.wild.test", true},
      {"both authorities are trusted", Trusting::kBoth, "server.test", true},
      {"another name is expected", Trusting::kIssuer, "other.test", false},
      {"the URL's address is expected", Trusting::kIssuer, "", false},
      {"another authority is trusted", Trusting::kOther, "server.test", false},
      {"only the system's authorities are trusted", Trusting::kSystem, "server.test", false},
  }));
  INFO("when " << row.when);
  const TestCa issuer;
  const TestCa other;
  const TlsServer server(issuer, {"DNS:server.test", "DNS:*.wild.test"});
  const std::map<Trusting, std::string> authorities{{Trusting::kIssuer, issuer.pem()},
                                                    {Trusting::kBoth, other.pem() + issuer.pem()},
                                                    {Trusting::kOther, other.pem()},
                                                    {Trusting::kSystem, ""}};
  const auto reply = call({.url = server.url("127.0.0.1"),
                           .ca = authorities.at(row.trusting),
                           .server_name = row.server_name});
  CHECK(reply.has_value() == row.trusted);
  if (!reply) {
    INFO(reply.error().message);
    CHECK(reply.error().code == Code::kUnauthorized);
    CHECK_THAT(reply.error().message, ContainsSubstring("certificate not accepted"));
  }
}

// httplib's own client sends it again, a POST too, and takes a server that closed behind it for one
// that had closed before.
TEST_CASE("A request over TLS is sent once, although its connection ends without a reply",
          "[base][tls]") {
  const TestCa ca;
  const TestIdentity identity = ca.issue({"IP:127.0.0.1"});
  const auto context = server_tls_context({"cert", identity.cert, "key", identity.key});
  REQUIRE(context);
  std::atomic<int> requests = 0;
  {
    test::RawServer server([&](RawSocket& socket) {
      fcntl(socket.fd(), F_SETFL, O_NONBLOCK);
      Connection connection(socket.fd(), accepting_session(*context));
      if (connection.handshake() && connection.fill()) ++requests;
      connection.close_politely();
      std::string rest(16'384, 'x');
      while (connection.read(rest.data(), rest.size()) > 0) {
      }
    });
    const std::string url = "https://127.0.0.1:" + std::to_string(server.port());
    const auto reply = call({.url = url, .ca = ca.pem()}, std::string(1 << 20, 'x'));
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code == Code::kTransient);
  }
  CHECK(requests == 1);
}

TEST_CASE("A self-signed certificate is trusted if it is the authority named", "[base][tls]") {
  // As with a webhook's caBundle that is the server's own certificate.
  const TestCa ca;
  const TestIdentity leaf = ca.issue({"DNS:server.test"});
  const TlsServer server(leaf);
  CHECK(call({.url = server.url("127.0.0.1"), .ca = leaf.cert, .server_name = "server.test"})
            .has_value());
}

TEST_CASE("Certificate files that cannot be used are named", "[base][tls]") {
  static const TestCa ca;
  static const TestIdentity good = ca.issue({"DNS:server.test"});
  static const TestIdentity other = ca.issue({"DNS:server.test"});
  struct Row {
    std::string when;
    std::string cert;
    std::string key;
    std::string named;
  };
  const auto row = GENERATE(values<Row>({
      {"the certificate is no PEM", "hello", good.key, "tls.crt: holds no PEM certificate"},
      {"the certificate is empty", "", good.key, "tls.crt: holds no PEM certificate"},
      {"the certificate is damaged",
       "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", good.key,
       "tls.crt: not a readable PEM certificate"},
      {"the files are swapped", good.key, good.cert, "tls.crt: holds no PEM certificate"},
      {"the key is no PEM", good.cert, "hello", "tls.key: holds no readable"},
      {"the key belongs to another certificate", good.cert, other.key,
       "tls.key: is not the key of the certificate in"},
  }));
  INFO("when " << row.when);
  const TestFiles files;
  HttpServer server(
      {.tls = TlsFiles{files.add("tls.crt", row.cert), files.add("tls.key", row.key)}});
  const auto started = server.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().code == Code::kInvalid);
  CHECK_THAT(started.error().message, ContainsSubstring(row.named));
}

TEST_CASE("Missing certificate files are named", "[base][tls]") {
  const TestCa ca;
  const TestFiles files;
  const TestIdentity good = ca.issue({"DNS:server.test"});
  const std::string cert = files.add("tls.crt", good.cert);
  const std::string key = files.add("tls.key", good.key);
  const std::string missing = files.directory() + "/missing";
  struct Row {
    TlsFiles tls;
    std::string named;
  };
  for (const Row& row : {Row{{missing, key}, missing + ": No such file or directory"},
                         Row{{cert, missing}, missing + ": No such file or directory"},
                         Row{{files.directory(), key}, files.directory() + ": Is a directory"}}) {
    HttpServer server({.tls = row.tls});
    const auto started = server.start();
    REQUIRE_FALSE(started.has_value());
    CHECK(started.error().code == Code::kInvalid);
    CHECK_THAT(started.error().message, ContainsSubstring(row.named));
  }
}

TEST_CASE("Every call of a client with wrong TLS options returns an error", "[base][tls]") {
  static const TestCa ca;
  static const TestIdentity good = ca.issue({"DNS:client.test"});
  struct Row {
    std::string when;
    HttpClientOptions options;
    std::string named;
  };
  const auto row = GENERATE(values<Row>({
      {"the authority is no PEM",
       {.url = "https://127.0.0.1:1", .ca = "hello"},
       "certificate authority: holds no readable PEM certificate"},
      {"the client's key is missing",
       {.url = "https://127.0.0.1:1", .ca = ca.pem(), .client_cert = good.cert},
       "client key: holds no readable"},
      {"the server's name is too long",
       {.url = "https://127.0.0.1:1", .ca = ca.pem(), .server_name = std::string(300, 'a')},
       "is not a valid server name"},
  }));
  INFO("when " << row.when);
  const auto reply = call(row.options);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Code::kInvalid);
  CHECK_THAT(reply.error().message, ContainsSubstring(row.named));
}

TEST_CASE("The error for a missing certificate file says what to do", "[base][tls]") {
  const TestFiles files;
  const std::string missing = files.directory() + "/tls.crt";
  HttpServer server({.tls = TlsFiles{missing, missing}});
  const auto started = server.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().message ==
        "cannot read " + missing +
            ": No such file or directory; TLS needs a certificate and its key (--tls-cert-file, "
            "--tls-key-file): mount the Secret that contains them, or issue them first");
}

TEST_CASE("Callers that do not speak TLS are dropped, and others are served", "[base][tls]") {
  const TestCa ca;
  const TlsServer server(ca, {"IP:127.0.0.1"});
  auto plain = RawSocket::connect_to(server.port());
  plain.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
  plain.receive_all();
  auto silent = RawSocket::connect_to(server.port());
  auto slow = RawSocket::connect_to(server.port());
  slow.send("\x16\x03\x01");
  CHECK(call({.url = server.url("127.0.0.1"), .ca = ca.pem()}).has_value());
}

// A TLS caller that does as a test says, for what the client of the suite would not do.
class RawTls {
 public:
  explicit RawTls(int port, int version = 0)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        session_(nullptr, SSL_free),
        socket_(RawSocket::connect_to(port)) {
    // Level 0 lets the client speak what the server must refuse.
    REQUIRE(SSL_CTX_set_cipher_list(context_.get(), "DEFAULT@SECLEVEL=0") == 1);
    SSL_CTX_set_min_proto_version(context_.get(), version);
    SSL_CTX_set_max_proto_version(context_.get(), version);
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), socket_.fd());
  }

  bool handshake() { return SSL_connect(session_.get()) == 1; }
  void send(const std::string& bytes) {
    CHECK(SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0);
  }
  // One piece of at most 16 kB; "" at the end.
  std::string receive() {
    std::string bytes(16'384, '\0');
    const int got = SSL_read(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
    return bytes.substr(0, static_cast<std::size_t>(std::max(got, 0)));
  }
  SSL* get() const { return session_.get(); }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> session_;
  RawSocket socket_;
};

constexpr const char* kMirror =
    "POST /mirror HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi";

TEST_CASE("TLS older than 1.2 is refused", "[base][tls]") {
  const TestCa ca;
  const TlsServer server(ca, {"IP:127.0.0.1"});
  const auto version = GENERATE(values<int>({TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION}));
  INFO("version " << std::hex << version);
  RawTls caller(server.port(), version);
  CHECK(caller.handshake() == (version >= TLS1_2_VERSION));
}

TEST_CASE("TLS 1.2 is spoken with authenticated encryption and forward secrecy only",
          "[base][tls]") {
  const TestCa ca;
  const TlsServer server(ca, {"IP:127.0.0.1"});
  const auto [cipher, is_taken] = GENERATE(table<const char*, bool>(
      {{"ECDHE-ECDSA-AES128-GCM-SHA256", true},
       {"ECDHE-ECDSA-CHACHA20-POLY1305", true},
       {"ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA:ECDHE-ECDSA-AES128-SHA", false},
       {"ECDHE-ECDSA-AES256-CCM", false}}));
  INFO(cipher);
  RawTls caller(server.port(), TLS1_2_VERSION);
  REQUIRE(SSL_set_cipher_list(caller.get(), cipher) == 1);
  CHECK(caller.handshake() == is_taken);
}

TEST_CASE("The server sends its chain, so callers need only the root", "[base][tls]") {
  const TestCa root;
  const TestCa intermediate(root, {});
  const TestIdentity leaf = intermediate.issue({"IP:127.0.0.1"});
  const TlsServer whole({leaf.cert + intermediate.pem(), leaf.key});
  CHECK(call({.url = whole.url("127.0.0.1"), .ca = root.pem()}).has_value());
  const TlsServer leaf_only(leaf);
  CHECK_FALSE(call({.url = leaf_only.url("127.0.0.1"), .ca = root.pem()}).has_value());
}

TEST_CASE("Callers get the same certificate for every server name", "[base][tls]") {
  const TestCa ca;
  const TlsServer server(ca, {"DNS:server.test"});
  RawTls caller(server.port());
  SSL_set_tlsext_host_name(caller.get(), "another.test");
  REQUIRE(caller.handshake());
  caller.send(kMirror);
  CHECK(caller.receive().ends_with("hi"));
}

TEST_CASE("A caller cannot renegotiate", "[base][tls]") {
  const TestCa ca;
  const TlsServer server(ca, {"IP:127.0.0.1"});
  RawTls caller(server.port(), TLS1_2_VERSION);
  REQUIRE(caller.handshake());
  SSL_renegotiate(caller.get());
  SSL_do_handshake(caller.get());  // sends what begins it
  caller.receive();                // and here comes the answer
  CHECK(ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION);
  ERR_clear_error();
  CHECK(call({.url = server.url("127.0.0.1"), .ca = ca.pem()}).has_value());
}

TEST_CASE("A handshake that does not go on is ended", "[base][tls]") {
  const TestCa ca;
  const TestFiles files;
  const TestIdentity good = ca.issue({"IP:127.0.0.1"});
  HttpServer server(
      {.tls = TlsFiles{files.add("tls.crt", good.cert), files.add("tls.key", good.key)},
       .read_timeout = std::chrono::milliseconds(200)});
  REQUIRE(server.start().has_value());
  const auto beginning = GENERATE(values<std::string>({"", "\x16\x03\x01"}));
  auto silent = RawSocket::connect_to(server.port());
  silent.send(beginning);
  CHECK(silent.is_at_end());
}

TEST_CASE("Callers that never start their handshake are closed for new ones", "[base][tls]") {
  const TestCa ca;
  const TestFiles files;
  const TestIdentity good = ca.issue({"IP:127.0.0.1"});
  HttpServer server(
      {.tls = TlsFiles{files.add("tls.crt", good.cert), files.add("tls.key", good.key)},
       .max_connections = 4,
       .read_timeout = std::chrono::minutes(10)});
  server.handle("/mirror", mirror);
  REQUIRE(server.start().has_value());
  std::vector<RawSocket> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(RawSocket::connect_to(server.port()));
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port());
  CHECK(wait_until([&] { return call({.url = url, .ca = ca.pem()}).has_value(); }));
}

TEST_CASE("stop closes idle TLS connections", "[base][tls]") {
  const TestCa ca;
  const TestFiles files;
  const TestIdentity good = ca.issue({"IP:127.0.0.1"});
  HttpServer server(
      {.tls = TlsFiles{files.add("tls.crt", good.cert), files.add("tls.key", good.key)},
       .idle_timeout = std::chrono::minutes(10)});
  server.handle("/mirror", mirror);
  REQUIRE(server.start().has_value());
  std::vector<std::unique_ptr<RawTls>> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(std::make_unique<RawTls>(server.port()));
    REQUIRE(idle.back()->handshake());
  }
  idle.front()->send(kMirror);
  CHECK(idle.front()->receive().ends_with("hi"));
  server.stop();  // returns long before the idle time is over
  for (const auto& caller : idle) {
    CHECK(caller->receive().empty());
    CHECK(SSL_get_shutdown(caller->get()) == SSL_RECEIVED_SHUTDOWN);  // in good order
  }
}

TEST_CASE("With a client CA, only callers with its certificates are accepted", "[base][tls]") {
  const TestCa ca;
  const TestCa callers;
  const TestCa strangers;
  const TestFiles files;
  const TestIdentity good = ca.issue({"IP:127.0.0.1"});
  HttpServer server(
      {.tls = TlsFiles{files.add("tls.crt", good.cert), files.add("tls.key", good.key),
                       files.add("ca.crt", callers.pem())}});
  server.handle("/mirror", mirror);
  REQUIRE(server.start().has_value());
  HttpClientOptions options{.url = "https://127.0.0.1:" + std::to_string(server.port()),
                            .ca = ca.pem()};
  CHECK_FALSE(call(options).has_value());
  for (const TestCa* issuer : {&strangers, &callers}) {
    const TestIdentity caller = issuer->issue({"DNS:caller.test"});
    options.client_cert = caller.cert;
    options.client_key = caller.key;
    CHECK(call(options).has_value() == (issuer == &callers));
  }
}

}  // namespace
}  // namespace nervex
