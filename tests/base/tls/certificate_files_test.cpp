#include "base/tls/certificate_files.h"

#include <atomic>
#include <filesystem>

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/http/client.h"
#include "base/http/server.h"
#include "tests/base/certs.h"
#include "tests/base/raw_socket.h"
#include "tests/support/fake_clock.h"
#include "tests/support/wait_until.h"

namespace nervex {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;
using test::RawSocket;
using test::TestCa;
using test::TestFiles;
using test::TestIdentity;
using testing::wait_until;

constexpr const char* kName = "IP:127.0.0.1";

// A Secret as the kubelet mounts it: tls.crt -> ..data/tls.crt, ..data -> a folder of one version.
class MountedSecret {
 public:
  explicit MountedSecret(const TestIdentity& identity) {
    for (const char* name : {"tls.crt", "tls.key"}) {
      fs::create_symlink(fs::path("..data") / name, path(name));
    }
    replace(identity);
  }

  // All files at once, as rename() of the link is atomic.
  void replace(const TestIdentity& identity) {
    const std::string version = "..version" + std::to_string(++versions_);
    fs::create_directory(path(version));
    files_.add(version + "/tls.crt", identity.cert);
    files_.add(version + "/tls.key", identity.key);
    fs::create_symlink(version, path("..new"));
    fs::rename(path("..new"), path("..data"));
  }

  TlsFiles tls_files() const { return {path("tls.crt"), path("tls.key"), "", milliseconds(5)}; }
  std::string path(const std::string& name) const { return files_.directory() + "/" + name; }

 private:
  TestFiles files_;
  int versions_ = 0;
};

std::string encode_pem(const X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), certificate);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

std::string shown_by(const CertificateFiles& files) {
  return encode_pem(SSL_CTX_get0_certificate(files.current().get()));
}

// One TLS 1.3 connection; offers to resume `resumed` and takes what can be resumed next time.
struct Visit {
  std::string certificate;
  bool resumed = false;
  std::shared_ptr<SSL_SESSION> ticket;
};
Visit visit(int port, SSL_SESSION* resumed = nullptr) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(context.get()), SSL_free);
  const auto socket = RawSocket::connect_to(port);
  SSL_set_fd(session.get(), socket.fd());
  if (resumed != nullptr) SSL_set_session(session.get(), resumed);
  REQUIRE(SSL_connect(session.get()) == 1);
  const std::string request = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
  SSL_write(session.get(), request.data(), static_cast<int>(request.size()));
  char reply[100];  // the tickets come before it
  REQUIRE(SSL_read(session.get(), reply, sizeof reply) > 0);
  SSL_shutdown(session.get());  // OpenSSL takes a session that just ends for a failed one
  return {encode_pem(SSL_get0_peer_certificate(session.get())),
          SSL_session_reused(session.get()) == 1,
          {SSL_get1_session(session.get()), SSL_SESSION_free}};
}

TEST_CASE("A pair that is replaced is used from then on", "[base][tls][swap]") {
  const TestCa ca;
  const TestIdentity first = ca.issue({kName});
  const TestIdentity second = ca.issue({kName}, {-3600, 7200});
  MountedSecret secret(first);
  const SystemClock clock;
  CertificateFiles files(secret.tls_files(), clock);
  CHECK(files.check_valid().error().message == "no certificate is loaded yet");
  CHECK_FALSE(files.expires());
  REQUIRE(files.load());
  CHECK(shown_by(files) == first.cert);
  const auto expires = *files.expires();

  secret.replace(second);
  REQUIRE(files.load());
  CHECK(shown_by(files) == second.cert);
  CHECK(*files.expires() - expires > std::chrono::minutes(50));
  CHECK(files.check_files());

  const TlsContext before = files.current();
  REQUIRE(files.load());
  CHECK(files.current() == before);  // nothing changed, so nothing was created again
}

TEST_CASE("A pair that cannot be used leaves the old one in use, and says why",
          "[base][tls][swap]") {
  const TestCa ca;
  const TestIdentity good = ca.issue({kName});
  const TestIdentity other = ca.issue({kName});
  struct Row {
    std::string when;
    TestIdentity identity;
    std::string problem;
  };
  const std::vector<Row> rows{
      {"the key is of another certificate", {other.cert, good.key}, "is not the key of"},
      {"the certificate is no PEM", {"hello", good.key}, "holds no PEM certificate"},
      {"the certificate has no readable end",
       {test::with_unreadable_end(other.cert), other.key},
       "tls.crt: the dates of a certificate cannot be read"},
      {"the end of its issuer cannot be read",
       {other.cert + test::with_unreadable_end(ca.pem()), other.key},
       "tls.crt: the dates of a certificate cannot be read"},
      {"the key is empty", {good.cert, ""}, "holds no readable, unencrypted PEM key"},
  };
  for (const Row& row : rows) {
    INFO("when " << row.when);
    MountedSecret secret(good);
    const SystemClock clock;
    CertificateFiles files(secret.tls_files(), clock);
    REQUIRE(files.load());
    secret.replace(row.identity);
    for (int i = 0; i < 2; ++i) {
      const auto loaded = files.load();
      REQUIRE_FALSE(loaded);
      CHECK(loaded.error().code == Code::kInvalid);
      CHECK_THAT(files.check_files().error().message, ContainsSubstring(row.problem));
      CHECK(shown_by(files) == good.cert);
      CHECK(files.check_valid());  // callers are served as well as before
    }
    secret.replace(other);
    CHECK(files.load());
    CHECK(files.check_files());
    CHECK(shown_by(files) == other.cert);
  }
}

TEST_CASE("A server does not start with a certificate whose dates cannot be read",
          "[base][tls][swap]") {
  const TestIdentity good = TestCa().issue({kName});
  const MountedSecret secret({test::with_unreadable_end(good.cert), good.key});
  HttpServer server({.tls = secret.tls_files()});
  const auto started = server.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().code == Code::kInvalid);
  CHECK_THAT(started.error().message,
             ContainsSubstring("tls.crt: the dates of a certificate cannot be read"));
}

TEST_CASE("Files that vanish leave the pair in use", "[base][tls][swap]") {
  const TestCa ca;
  const TestIdentity good = ca.issue({kName});
  const MountedSecret secret(good);
  const SystemClock clock;
  CertificateFiles files(secret.tls_files(), clock);
  REQUIRE(files.load());
  fs::remove(secret.path("..data"));
  CHECK_FALSE(files.load());
  CHECK_THAT(files.check_files().error().message, ContainsSubstring("No such file or directory"));
  CHECK(shown_by(files) == good.cert);
}

TEST_CASE("Callers are not served outside a certificate's validity", "[base][tls][swap]") {
  const TestCa ca;
  const MountedSecret secret(ca.issue({kName}));
  testing::FakeClock clock;
  clock.advance(SystemClock().now() - clock.now());
  CertificateFiles files(secret.tls_files(), clock);
  REQUIRE(files.load());
  CHECK(files.check_valid());
  clock.advance(std::chrono::hours(2));
  CHECK_THAT(files.check_valid().error().message,
             ContainsSubstring("tls.crt expired at " + to_rfc3339(*files.expires())));
  CHECK(files.check_files().error().message == files.check_valid().error().message);

  const MountedSecret early(ca.issue({kName}, {3600, 7200}));
  const SystemClock now;
  CertificateFiles not_yet(early.tls_files(), now);
  REQUIRE(not_yet.load());
  CHECK_THAT(not_yet.check_valid().error().message, ContainsSubstring("is not valid before"));
}

TEST_CASE("A chain expires with its first certificate", "[base][tls][swap]") {
  const TestCa root;
  const TestCa intermediate(root, {-3600, 60});
  const TestIdentity leaf = intermediate.issue({kName});
  const MountedSecret secret({leaf.cert + intermediate.pem(), leaf.key});
  const SystemClock clock;
  CertificateFiles files(secret.tls_files(), clock);
  REQUIRE(files.load());
  CHECK(*files.expires() - clock.now() <= std::chrono::seconds(60));
}

TEST_CASE("A server with an expired certificate is not ready", "[base][tls][swap]") {
  const TestCa ca;
  MountedSecret secret(ca.issue({kName}, {-7200, -3600}));
  HttpServer server({.tls = secret.tls_files()});
  REQUIRE(server.start());
  CHECK_THAT(server.check_certificate().error().message, ContainsSubstring("expired"));
  CHECK_THAT(server.check_certificate_files().error().message, ContainsSubstring("expired"));
  secret.replace(ca.issue({kName}));
  CHECK(wait_until([&server] { return server.check_certificate().has_value(); }));
  CHECK(*server.certificate_expires() > SystemClock().now());

  HttpServer plain({});
  REQUIRE(plain.start());
  CHECK(plain.check_certificate());
  CHECK(plain.check_certificate_files());
  CHECK_FALSE(plain.certificate_expires());
}

TEST_CASE("Sessions are resumed until the certificate changes", "[base][tls][swap]") {
  const TestCa ca;
  const TestIdentity first = ca.issue({kName});
  const TestIdentity second = ca.issue({kName});
  MountedSecret secret(first);
  HttpServer server({.tls = secret.tls_files()});
  REQUIRE(server.start());
  const Visit before = visit(server.port());
  CHECK(visit(server.port(), before.ticket.get()).resumed);

  secret.replace(second);
  REQUIRE(wait_until([&] { return visit(server.port()).certificate == second.cert; }));
  const Visit after = visit(server.port(), before.ticket.get());
  CHECK_FALSE(after.resumed);
  CHECK(after.certificate == second.cert);
}

TEST_CASE("No call fails while certificates are swapped under load", "[base][tls][swap]") {
  const TestCa ca;
  const TestIdentity first = ca.issue({kName});
  MountedSecret secret(first);
  HttpServer server({.tls = secret.tls_files()});
  server.handle("/", [](const HttpRequest& request) { return HttpReply{200, request.body}; });
  REQUIRE(server.start());
  const HttpClientOptions options{.url = "https://127.0.0.1:" + std::to_string(server.port()),
                                  .ca = ca.pem()};

  std::atomic<int> calls = 0;
  std::atomic<int> failures = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, keeps = i % 2 == 0](const std::stop_token& stop) {
      auto client = std::make_unique<HttpClient>(options);
      while (!stop.stop_requested()) {
        if (!keeps) client = std::make_unique<HttpClient>(options);  // a handshake for each call
        const auto reply = client->send("POST", "/", {}, "hello", "text/plain");
        if (!reply || reply->body != "hello") ++failures;
        ++calls;
      }
    });
  }
  const auto more_calls = [&calls] {
    const int before = calls;
    return wait_until([&calls, before] { return calls >= before + 20; });
  };
  TestIdentity last;
  for (int i = 0; i < 5; ++i) {
    last = ca.issue({kName});
    secret.replace(last);
    REQUIRE(wait_until([&] { return visit(server.port()).certificate == last.cert; }));
    CHECK(more_calls());
    secret.replace({ca.issue({kName}).cert, last.key});  // do not fit
    REQUIRE(wait_until([&server] { return !server.check_certificate_files(); }));
    CHECK(more_calls());
    CHECK(visit(server.port()).certificate == last.cert);
  }
  callers.clear();
  CHECK(failures == 0);
}

}  // namespace
}  // namespace nervex
