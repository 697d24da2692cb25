// Which authorities does a client trust if none is configured?
#include <set>
#include <string>

#include <openssl/x509.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/tls/tls.h"

namespace nervex {

TEST_CASE("Certificate authorities are found where OpenSSL does not look", "[base][tls]") {
  struct Row {
    std::string when;
    std::set<std::string> there;
    std::string file;  // that is read; empty: OpenSSL looks by itself
  };
  const std::string debian = "/etc/ssl/certs/ca-certificates.crt";
  const std::string fedora = "/etc/pki/tls/certs/ca-bundle.crt";
  const auto row = GENERATE_COPY(values<Row>({
      {"OpenSSL's folder is there", {X509_get_default_cert_dir(), debian}, ""},
      {"OpenSSL's file is there", {X509_get_default_cert_file(), debian}, ""},
      {"an image has the bundle alone", {debian}, debian},
      {"the program runs on another distribution", {fedora}, fedora},
      {"there are none", {}, ""},
  }));
  INFO("when " << row.when);
  CHECK(unknown_authorities_file([&](const char* path) { return row.there.count(path) > 0; }) ==
        row.file);
}

}  // namespace nervex
