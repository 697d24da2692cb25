#include "certs/plan.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <algorithm>
#include <functional>

#include "tests/support/fake_clock.h"

namespace nervex::certs {
namespace {

using std::chrono::days;

const SysTime kStart = testing::FakeClock().now();
constexpr auto kAhead = std::chrono::seconds(301);  // more than clocks may differ

Terms terms() {
  Terms terms;
  terms.names = {"DNS:hook.system.svc", "IP:127.0.0.1"};
  return terms;
}

// As left by a first run at `kStart`.
StoredCerts installed() { return *renew({}, judge({}, terms(), kStart), terms(), kStart); }

StoredCerts run_again(const StoredCerts& stored, SysTime now) {
  return *renew(stored, judge(stored, terms(), now), terms(), now);
}

}  // namespace

TEST_CASE("a first run makes both certificates", "[cli][certs]") {
  const StoredCerts made = installed();
  REQUIRE(made.authority);
  REQUIRE(made.serving);
  CHECK(made.bundle == made.authority->cert);
  CHECK(judge(made, terms(), kStart) == RenewalPlan{});
}

TEST_CASE("certificates that do not expire soon stay unchanged", "[cli][certs]") {
  const StoredCerts made = installed();
  CHECK(run_again(made, kStart + days(59)) == made);
}

TEST_CASE("a serving certificate is created again for each fault, by the same authority",
          "[cli][certs]") {
  struct Row {
    std::string when;
    std::function<void(StoredCerts&, Terms&, SysTime&)> spoil;
    std::string why;
  };
  const auto other = installed();
  const auto row = GENERATE_COPY(values<Row>({
      {"it is missing", [](auto& s, auto&, auto&) { s.serving.reset(); }, "it does not exist"},
      {"it ends soon", [](auto&, auto&, auto& now) { now += days(61); }, "it expires on"},
      {"it is no certificate", [](auto& s, auto&, auto&) { s.serving->cert = "?"; },
       "not a readable"},
      {"its key is another's",
       [other](auto& s, auto&, auto&) { s.serving->key = other.serving->key; },
       "its key is missing"},
      {"a name is missing", [](auto&, auto& t, auto&) { t.names.emplace_back("DNS:new"); },
       "it does not contain the name DNS:new"},
      {"another authority signed it", [other](auto& s, auto&, auto&) { s.serving = other.serving; },
       "it is not signed by a trusted authority"},
      {"it is not valid yet",
       [](auto& s, auto& t, auto& now) {
         s.serving = *issue_serving(*s.authority, t.names, {now + kAhead, now + days(90)});
       },
       "it is not valid before"},
      {"--renew-now is given", [](auto&, auto& t, auto&) { t.renew_now = true; },
       "--renew-now was given"},
  }));
  INFO("when " << row.when);
  StoredCerts stored = installed();
  Terms now_wanted = terms();
  SysTime now = kStart;
  row.spoil(stored, now_wanted, now);

  const RenewalPlan verdict = judge(stored, now_wanted, now);
  CHECK(verdict.new_authority.empty());
  CHECK(verdict.new_serving.starts_with(row.why));
  const auto renewed = renew(stored, verdict, now_wanted, now);
  REQUIRE(renewed);
  CHECK(renewed->authority == stored.authority);
  CHECK(renewed->bundle == stored.bundle);
  CHECK(renewed->serving != stored.serving);
  now_wanted.renew_now = false;
  CHECK(judge(*renewed, now_wanted, now) == RenewalPlan{});
}

TEST_CASE("an authority is created again for each fault, and the old one stays trusted",
          "[cli][certs]") {
  struct Row {
    std::string when;
    std::function<void(StoredCerts&, SysTime&)> spoil;
    bool old_is_trusted = true;
  };
  const auto other = installed();
  const auto row = GENERATE_COPY(values<Row>({
      {"it ends within a year", [](auto&, auto& now) { now += days(3650 - 364); }},
      {"its key is lost", [](auto& s, auto&) { s.authority->key = ""; }},
      {"its key is another's",
       [other](auto& s, auto&) { s.authority->key = other.authority->key; }},
      {"it is missing altogether", [](auto& s, auto&) { s.authority.reset(); }},
      {"it is not valid yet",
       [](auto& s, auto& now) {
         s.authority = make_authority("nervex-ca", {now + kAhead, now + days(3650)});
         s.bundle = s.authority->cert;
         s.serving = *issue_serving(*s.authority, terms().names, {now, now + days(90)});
       },
       false},
      {"it is a serving certificate",
       [](auto& s, auto&) {
         s.authority = s.serving;
         s.bundle = "";
       },
       false},
  }));
  INFO("when " << row.when);
  StoredCerts stored = installed();
  const std::string old = stored.authority->cert;
  SysTime now = kStart;
  row.spoil(stored, now);

  REQUIRE_FALSE(judge(stored, terms(), now).new_authority.empty());
  const StoredCerts renewed = run_again(stored, now);
  const auto trusted = split_bundle(renewed.bundle);
  CHECK(trusted.front() == renewed.authority->cert);
  CHECK((trusted.size() == 2 && trusted.back() == old) == row.old_is_trusted);
  CHECK(judge(renewed, terms(), now) == RenewalPlan{});
}

TEST_CASE("small clock skew does not renew certificates", "[cli][certs]") {
  const SysTime from = kStart + std::chrono::minutes(5);
  StoredCerts stored;
  stored.authority = make_authority("nervex-ca", {from, from + days(3650)});
  stored.bundle = stored.authority->cert;
  stored.serving = *issue_serving(*stored.authority, terms().names, {from, from + days(90)});
  CHECK(run_again(stored, kStart) == stored);
}

TEST_CASE("an authority that is not valid yet is not trusted", "[cli][certs]") {
  const std::string early =
      make_authority("nervex-ca", {kStart + kAhead, kStart + days(3650)}).cert;
  StoredCerts stored = installed();
  stored.bundle += early;
  CHECK(bundle_with(stored.authority->cert, stored, kStart) == stored.authority->cert);
  CHECK(bundle_with(stored.authority->cert, stored, kStart + days(1)) == stored.bundle);
}

TEST_CASE("IP addresses are compared in canonical form", "[cli][certs]") {
  Terms spelled = terms();
  spelled.names.emplace_back(GENERATE("IP:fd00::1", "IP:FD00:0::0:1", "IP:fd00:0:0:0:0:0:0:1",
                                      "IP:::ffff:10.0.0.1", "IP:10.0.0.1"));
  INFO(spelled.names.back());
  const auto made = renew({}, judge({}, spelled, kStart), spelled, kStart);
  REQUIRE(made);
  CHECK(judge(*made, spelled, kStart) == RenewalPlan{});
  spelled.names.back() = "IP:fd00::2";
  CHECK(judge(*made, spelled, kStart).new_serving == "it does not contain the name IP:fd00::2");
}

TEST_CASE("over two rotations callers always trust the signer of the serving certificate",
          "[cli][certs]") {
  Terms yearly = terms();
  yearly.authority_validity = days(2 * 365);  // so one rotation a year
  StoredCerts stored = *renew({}, judge({}, yearly, kStart), yearly, kStart);
  const std::string first = stored.authority->cert;
  int authorities = 1;
  bool old_one_signed_on = false;
  for (SysTime now = kStart; now < kStart + days(800); now += days(7)) {
    const StoredCerts next = *renew(stored, judge(stored, yearly, now), yearly, now);
    // A client with the CA bundle of a week ago accepts the current certificate.
    const auto signer_is_in = [&](const std::string& bundle) {
      const auto trusted = split_bundle(bundle);
      return std::any_of(trusted.begin(), trusted.end(), [&](const std::string& one) {
        return is_signed_by(next.serving->cert, one);
      });
    };
    REQUIRE(signer_is_in(stored.bundle));
    REQUIRE(signer_is_in(next.bundle));
    REQUIRE(split_bundle(next.bundle).size() <= 2);
    REQUIRE(read_certificate(next.serving->cert)->validity.until >= now + yearly.renew_before);
    authorities += next.authority == stored.authority ? 0 : 1;
    old_one_signed_on |= authorities == 2 && is_signed_by(next.serving->cert, first);
    stored = next;
  }
  CHECK(authorities == 3);
  CHECK(old_one_signed_on);  // a new authority waits for the next ordinary renewal
  CHECK_FALSE(is_signed_by(stored.serving->cert, first));
  CHECK(stored.bundle.find(first) == std::string::npos);
}

TEST_CASE("a serving certificate does not outlive its authority", "[cli][certs]") {
  Terms short_lived = terms();
  short_lived.authority_validity = days(60);
  short_lived.authority_renew_before = days(1);
  const auto made = renew({}, judge({}, short_lived, kStart), short_lived, kStart);
  REQUIRE(made);
  CHECK(read_certificate(made->serving->cert)->validity.until == kStart + days(60));
}

}  // namespace nervex::certs
