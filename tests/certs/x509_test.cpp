#include "certs/x509.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "base/tls/tls.h"
#include "certs/files.h"
#include "tests/support/temp_folder.h"

namespace nervex::certs {
namespace {

using std::chrono::days;
using Names = std::vector<std::string>;

const SysTime kNow = *parse_rfc3339("2026-11-21T14:00:00Z");
const Validity kYear{kNow, kNow + days(365)};

}  // namespace

TEST_CASE("a CA certificate has the CA flag and its validity", "[cli][certs]") {
  const KeyPair authority = make_authority("nervex-ca", kYear);
  const auto facts = read_certificate(authority.cert);
  REQUIRE(facts);
  CHECK(facts->is_authority);
  CHECK(facts->validity.from == kYear.from);
  CHECK(facts->validity.until == kYear.until);
  CHECK(key_fits(authority));
  CHECK(is_signed_by(authority.cert, authority.cert));
}

TEST_CASE("a serving certificate has the names asked for", "[cli][certs]") {
  const KeyPair authority = make_authority("nervex-ca", kYear);
  const Names names{"DNS:" + std::string(63, 'a') + ".svc", "DNS:*.b", "IP:10.0.0.1",
                    "IP:fd00:0:0:0:0:0:0:1"};
  const auto leaf = issue_serving(authority, names, kYear);
  REQUIRE(leaf);
  const auto facts = read_certificate(leaf->cert);
  REQUIRE(facts);
  CHECK(facts->names == names);
  CHECK_FALSE(facts->is_authority);
  CHECK(key_fits(*leaf));
  CHECK(is_signed_by(leaf->cert, authority.cert));
  CHECK_FALSE(is_signed_by(leaf->cert, make_authority("nervex-ca", kYear).cert));
}

TEST_CASE("an invalid name is refused", "[cli][certs]") {
  const auto name = GENERATE("", "DNS:", "a.b", "IP:a.b", "IP:300.0.0.1", "DNS:a,IP:10.0.0.1",
                             "DNS:a b", "email:a@b", "DNS:a\nIP:10.0.0.1");
  INFO(name);
  const auto leaf = issue_serving(make_authority("nervex-ca", kYear), {name}, kYear);
  REQUIRE_FALSE(leaf);
  CHECK(leaf.error().code == Code::kInvalid);
}

TEST_CASE("a bundle is split, up to the first unreadable part", "[cli][certs]") {
  const std::string a = make_authority("a", kYear).cert;
  const std::string b = make_authority("b", kYear).cert;
  CHECK(split_bundle(a + b) == Names{a, b});
  CHECK(split_bundle("# a comment\n" + a + "\nrest") == Names{a});
  CHECK(split_bundle("").empty());
}

TEST_CASE("our own TLS accepts issued certificates", "[cli][certs]") {
  const KeyPair authority = make_authority("nervex-ca", kYear);
  const auto leaf = issue_serving(authority, {"DNS:a"}, kYear);
  REQUIRE(leaf);
  CHECK(server_tls_context({"cert", leaf->cert, "key", leaf->key}));
  CHECK(client_tls_context(authority.cert, {}));
}

TEST_CASE("a folder keeps certificates for the next run, for their owner only", "[cli][certs]") {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/deep/certs";
  CHECK(*read_folder(path) == StoredCerts{});
  Terms terms;
  terms.names = {"DNS:a"};
  const auto made = renew({}, judge({}, terms, kNow), terms, kNow);
  REQUIRE(made);
  REQUIRE(write_folder(path, *made));
  CHECK(*read_folder(path) == *made);
  for (const char* name : {"/ca.key", "/tls.key", "/ca.crt", "/tls.crt"}) {
    using std::filesystem::perms;
    CHECK(std::filesystem::status(path + name).permissions() ==
          (perms::owner_read | perms::owner_write));
  }
}

TEST_CASE("a file that lies at the temporary path neither gets a key nor keeps its mode",
          "[cli][certs]") {
  using std::filesystem::perms;
  const testing::TempFolder folder;
  const std::string elsewhere = folder.write("elsewhere", "as it was");
  const std::string key = folder.path() + "/tls.key";
  std::filesystem::create_symlink(elsewhere, folder.path() + "/ca.key.new");
  std::filesystem::permissions(folder.write("tls.key.new", "of a run that was killed"),
                               perms::owner_all | perms::others_read);
  Terms terms;
  terms.names = {"DNS:a"};
  const auto made = renew({}, judge({}, terms, kNow), terms, kNow);
  REQUIRE(made);
  REQUIRE(write_folder(folder.path(), *made));
  CHECK(*read_folder(folder.path()) == *made);
  CHECK(std::filesystem::file_size(elsewhere) == std::string("as it was").size());
  CHECK_FALSE(std::filesystem::is_symlink(folder.path() + "/ca.key"));
  CHECK(std::filesystem::status(key).permissions() == (perms::owner_read | perms::owner_write));
}

TEST_CASE("a key that cannot be renamed leaves no temporary file", "[cli][certs]") {
  const testing::TempFolder folder;
  folder.write("tls.key/in-the-way", "");
  Terms terms;
  terms.names = {"DNS:a"};
  const auto made = renew({}, judge({}, terms, kNow), terms, kNow);
  REQUIRE(made);
  const auto written = write_folder(folder.path(), *made);
  REQUIRE_FALSE(written);
  CHECK(written.error().message.find("tls.key: Is a directory") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/tls.key.new"));
}

TEST_CASE("a folder that cannot be used is an error", "[cli][certs]") {
  const testing::TempFolder folder;
  folder.write("file", "");
  Terms terms;
  terms.names = {"DNS:a"};
  const auto made = renew({}, judge({}, terms, kNow), terms, kNow);
  REQUIRE(made);
  CHECK_FALSE(write_folder(folder.path() + "/file/certs", *made));
  folder.write("ca.crt/in-the-way", "");
  CHECK_FALSE(read_folder(folder.path()));
}

}  // namespace nervex::certs
