#include "kube/credential_files.h"

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

TEST_CASE("files are looked at once a minute", "[kube][credentials]") {
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

TEST_CASE("files are looked at when something went wrong", "[kube][credentials]") {
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

TEST_CASE("a file that is gone or empty keeps what it held", "[kube][credentials]") {
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

TEST_CASE("texts that stand in the kubeconfig do not change", "[kube][credentials]") {
  ConnectionConfig config;
  config.ca = "ca";
  FakeClock clock;
  CredentialFiles files(config, clock);
  clock.advance(24h);
  CHECK_FALSE(files.changed());
}

}  // namespace
}  // namespace nervex::kube
