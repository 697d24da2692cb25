#include "kube/auth/identity.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/fake_clock.h"
#include "tests/support/temp_folder.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::TempFolder;

ConnectionConfig config_in(const TempFolder& folder) {
  ConnectionConfig config;
  config.ca = "ca 1";
  config.ca_file = folder.write("ca.crt", config.ca);
  config.client_cert = "cert 1";
  config.client_cert_file = folder.write("tls.crt", config.client_cert);
  config.client_key = "key 1";
  config.client_key_file = folder.write("tls.key", config.client_key);
  return config;
}

TEST_CASE("files are read once a minute", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  CredentialFiles files(config_in(folder), clock);
  folder.write("ca.crt", "ca 2");
  CHECK_FALSE(files.changed());
  clock.advance(60s);
  const auto changed = files.changed();
  REQUIRE(changed);
  CHECK(changed->ca == "ca 2");
  CHECK(changed->client_cert == "cert 1");
  CHECK(changed->client_key == "key 1");
  clock.advance(60s);
  CHECK_FALSE(files.changed());
}

TEST_CASE("files are read after an error", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  CredentialFiles files(config_in(folder), clock);
  folder.write("tls.crt", "cert 2");
  folder.write("tls.key", "key 2");
  files.look_soon();
  const auto changed = files.changed();
  REQUIRE(changed);
  CHECK(changed->client_cert == "cert 2");
  CHECK(changed->client_key == "key 2");
}

TEST_CASE("a file that was deleted or is empty keeps what it held", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  CredentialFiles files(config_in(folder), clock);
  folder.write("ca.crt", "");
  std::filesystem::remove(folder.path() + "/tls.key");
  clock.advance(60s);
  CHECK_FALSE(files.changed());
  folder.write("tls.key", "key 2");
  clock.advance(60s);
  const auto changed = files.changed();
  REQUIRE(changed);
  CHECK(changed->ca == "ca 1");
  CHECK(changed->client_key == "key 2");
}

TEST_CASE("inline credentials of the kubeconfig do not change", "[kube][credentials]") {
  ConnectionConfig config;
  config.ca = "ca";
  FakeClock clock;
  CredentialFiles files(config, clock);
  clock.advance(24h);
  CHECK_FALSE(files.changed());
}

// ---- the token

TEST_CASE("a token file is read again each minute", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  TokenFile token(folder.write("token", "first\n"), clock);
  CHECK(*token.get() == "first");
  folder.write("token", "second");
  clock.advance(59s);
  CHECK(*token.get() == "first");
  clock.advance(1s);
  CHECK(*token.get() == "second");
}

TEST_CASE("a token file is read again when the token was refused", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  TokenFile token(folder.write("token", "first"), clock);
  CHECK(*token.get() == "first");
  folder.write("token", "second");
  token.drop();
  CHECK(*token.get() == "second");
}

TEST_CASE("a token file that was deleted or is empty leaves the old token", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  TokenFile token(folder.path() + "/token", clock);
  CHECK(token.get().error().code == Code::kTransient);
  folder.write("token", "first");
  CHECK(*token.get() == "first");  // without waiting for a minute
  folder.write("token", "\n");
  clock.advance(60s);
  CHECK(*token.get() == "first");
  std::filesystem::remove(folder.path() + "/token");
  clock.advance(60s);
  CHECK(*token.get() == "first");
}

}  // namespace
}  // namespace nervex::kube
