#include "certs/cluster.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/admission.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"

namespace nervex::certs {
namespace {

using testing::Applied;
using testing::FakeApi;
using testing::FakeClock;

constexpr kube::ResourceKind kSecrets{"", "v1", "secrets"};
constexpr kube::ResourceKind kMutating{"admissionregistration.k8s.io", "v1",
                                       "mutatingwebhookconfigurations"};
constexpr kube::ResourceKind kValidating{"admissionregistration.k8s.io", "v1",
                                         "validatingwebhookconfigurations"};
const Places kPlaces;

struct Cluster {
  FakeApi api;
  FakeClock clock;

  Cluster() {
    api.add(kMutating, "", configuration(kPlaces.mutating, {"m"}));
    api.add(kValidating, "", configuration(kPlaces.validating, {"v", "w"}));
    api.clear_writes();
  }

  static Json configuration(const std::string& name, const std::vector<std::string>& hooks) {
    Json object = {{"metadata", {{"name", name}}}, {"webhooks", Json::array()}};
    for (const auto& hook : hooks) {
      object["webhooks"].push_back({{"name", hook},
                                    {"failurePolicy", "Fail"},
                                    {"clientConfig", {{"service", {{"name", "s"}}}}}});
    }
    return object;
  }

  Result<std::vector<std::string>> run(bool dry_run = false, bool renew_now = false) {
    Terms terms;
    terms.names = {"DNS:hook.svc"};
    terms.renew_now = renew_now;
    return install(api, kPlaces, terms, clock, dry_run);
  }

  std::string data(const std::string& secret, const std::string& key) const {
    const auto text = kube::base64_decode(
        kube::string_at(api.get(kSecrets, "nervex-system", secret), {"data", key}));
    return text ? *text : "";
  }
  std::vector<std::string> bundles() const {
    std::vector<std::string> found;
    for (const auto& [kind, name] :
         {std::pair{kMutating, kPlaces.mutating}, {kValidating, kPlaces.validating}}) {
      const Json object = api.get(kind, "", name);
      for (const Json& hook : object["webhooks"]) {
        found.push_back(*kube::base64_decode(kube::string_at(hook, {"clientConfig", "caBundle"})));
      }
    }
    return found;
  }
  bool is_whole() const {
    const std::string trusted = data(kPlaces.authority_secret, "ca.crt");
    return !trusted.empty() && bundles() == std::vector<std::string>(3, trusted) &&
           is_signed_by(data(kPlaces.serving_secret, "tls.crt"), trusted);
  }
};

// "PATCH nervex-ca", in order.
std::vector<std::string> paths(const FakeApi& api) {
  std::vector<std::string> found;
  for (const auto& write : api.writes()) {
    found.push_back(write.method + " " + write.path.substr(write.path.rfind('/') + 1));
  }
  return found;
}

}  // namespace

TEST_CASE("a first install writes signer, trust and serving certificate in this order",
          "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  CHECK(paths(cluster.api) == std::vector<std::string>{"POST secrets", "PATCH " + kPlaces.mutating,
                                                       "PATCH " + kPlaces.validating,
                                                       "POST secrets"});
  CHECK(cluster.is_whole());
  const Json secret = cluster.api.get(kSecrets, "nervex-system", kPlaces.serving_secret);
  CHECK(secret["type"] == "kubernetes.io/tls");
  const Json hook = cluster.api.get(kValidating, "", kPlaces.validating)["webhooks"][1];
  CHECK(hook["name"] == "w");  // and the rest of it stays
  CHECK(hook["failurePolicy"] == "Fail");
  CHECK(hook["clientConfig"]["service"]["name"] == "s");
}

TEST_CASE("nothing is written while no certificate expires soon", "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  cluster.api.clear_writes();
  const auto said = cluster.run();
  REQUIRE(said);
  CHECK(cluster.api.writes().empty());
  for (const auto& line : *said) CHECK(line.find("unchanged") != std::string::npos);
}

TEST_CASE("a renewal touches the serving certificate alone", "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  const std::string before = cluster.data(kPlaces.serving_secret, "tls.crt");
  cluster.clock.advance(std::chrono::days(61));
  cluster.api.clear_writes();
  REQUIRE(cluster.run());
  CHECK(paths(cluster.api) == std::vector<std::string>{"PATCH " + kPlaces.serving_secret});
  CHECK(cluster.data(kPlaces.serving_secret, "tls.crt") != before);
  CHECK(cluster.is_whole());
}

TEST_CASE("a new authority is trusted first, and signs only at the next renewal", "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  cluster.clock.advance(std::chrono::days(3650 - 390));
  REQUIRE(cluster.run());
  cluster.clock.advance(std::chrono::days(30));
  const std::string old = cluster.data(kPlaces.authority_secret, "tls.crt");
  cluster.api.clear_writes();
  REQUIRE(cluster.run());
  CHECK(paths(cluster.api) == std::vector<std::string>{"PATCH " + kPlaces.authority_secret,
                                                       "PATCH " + kPlaces.mutating,
                                                       "PATCH " + kPlaces.validating});
  CHECK(cluster.data(kPlaces.authority_secret, "tls.crt") != old);
  CHECK(cluster.bundles().front() == cluster.data(kPlaces.authority_secret, "tls.crt") + old);
  CHECK(is_signed_by(cluster.data(kPlaces.serving_secret, "tls.crt"), old));
}

TEST_CASE("a lost authority stays trusted while its certificate is in use", "[cli][certs]") {
  enum class Left { kBoth, kServingSecret, kHooks };
  const Left left = GENERATE(Left::kBoth, Left::kServingSecret, Left::kHooks);
  INFO("what is left of it: " << static_cast<int>(left));
  Cluster cluster;
  REQUIRE(cluster.run());
  const std::string old = cluster.data(kPlaces.authority_secret, "tls.crt");
  const std::string in_use = cluster.data(kPlaces.serving_secret, "tls.crt");
  cluster.api.remove(kSecrets, "nervex-system", kPlaces.authority_secret);
  if (left == Left::kServingSecret) {
    cluster.api.change(kMutating, "", kPlaces.mutating,
                       Cluster::configuration(kPlaces.mutating, {"m"}));
    cluster.api.change(kValidating, "", kPlaces.validating,
                       Cluster::configuration(kPlaces.validating, {"v", "w"}));
  }
  if (left == Left::kHooks) {
    Json secret = cluster.api.get(kSecrets, "nervex-system", kPlaces.serving_secret);
    secret["data"].erase("ca.crt");
    cluster.api.change(kSecrets, "nervex-system", kPlaces.serving_secret, secret);
  }
  REQUIRE(cluster.run());
  const std::string both = cluster.data(kPlaces.authority_secret, "tls.crt") + old;
  CHECK(cluster.bundles() == std::vector<std::string>(3, both));
  CHECK(cluster.data(kPlaces.authority_secret, "ca.crt") == both);
  CHECK(cluster.data(kPlaces.serving_secret, "tls.crt") == in_use);  // until its renewal
  cluster.api.clear_writes();
  REQUIRE(cluster.run());
  CHECK(cluster.api.writes().empty());
  // Pods use the old one for a while.
  REQUIRE(cluster.run(false, true));
  CHECK(is_signed_by(cluster.data(kPlaces.serving_secret, "tls.crt"), both));
  CHECK(cluster.bundles() == std::vector<std::string>(3, both));
}

TEST_CASE("an authority is distrusted by deleting both Secrets", "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  const std::string old = cluster.data(kPlaces.authority_secret, "tls.crt");
  cluster.api.remove(kSecrets, "nervex-system", kPlaces.authority_secret);
  cluster.api.remove(kSecrets, "nervex-system", kPlaces.serving_secret);
  REQUIRE(cluster.run());
  CHECK(cluster.is_whole());
  CHECK(cluster.bundles().front().find(old) == std::string::npos);
}

TEST_CASE("an authority in caBundle that signed nothing in use is not adopted", "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  const SysTime now = cluster.clock.now();
  const KeyPair foreign = make_authority("nervex-ca", {now, now + std::chrono::days(3000)});
  Json configuration = Cluster::configuration(kPlaces.mutating, {"m"});
  configuration["webhooks"][0]["clientConfig"]["caBundle"] = kube::base64_encode(foreign.cert);
  cluster.api.change(kMutating, "", kPlaces.mutating, configuration);
  REQUIRE(cluster.run());
  CHECK(cluster.is_whole());
  CHECK(cluster.bundles().front().find(foreign.cert) == std::string::npos);
}

TEST_CASE("a foreign caBundle is corrected", "[cli][certs]") {
  Cluster cluster;
  REQUIRE(cluster.run());
  cluster.api.change(kMutating, "", kPlaces.mutating,
                     Cluster::configuration(kPlaces.mutating, {"m"}));  // as kubectl replace does
  cluster.api.clear_writes();
  REQUIRE(cluster.run());
  CHECK(paths(cluster.api) == std::vector<std::string>{"PATCH " + kPlaces.mutating});
  CHECK(cluster.is_whole());
}

TEST_CASE("a dry run writes nothing and reports what it would do", "[cli][certs]") {
  Cluster cluster;
  const auto said = cluster.run(true);
  REQUIRE(said);
  CHECK(cluster.api.writes().empty());
  REQUIRE(said->size() == 4);
  for (const auto& line : *said) CHECK(line.find("would be") != std::string::npos);
}

TEST_CASE("without the webhook configurations nothing is written", "[cli][certs]") {
  Cluster cluster;
  cluster.api.remove(kValidating, "", kPlaces.validating);
  const auto said = cluster.run();
  REQUIRE_FALSE(said);
  CHECK(said.error().code == Code::kNotFound);
  CHECK(said.error().message.find("apply the manifests first") != std::string::npos);
  CHECK(cluster.api.writes().empty());
}

TEST_CASE("an interrupted run is completed by the next", "[cli][certs]") {
  for (const Applied applied : {Applied::kNo, Applied::kYes}) {
    for (int broken = 0; broken < 4; ++broken) {
      INFO("write " << broken << (applied == Applied::kYes ? ", its reply lost" : ""));
      Cluster cluster;
      int writes = 0;
      cluster.api.fail_next(
          [&writes, broken](const kube::ApiRequest& r) {
            return r.method != "GET" && writes++ == broken;
          },
          {Code::kTransient, "connection reset"}, applied);
      const auto said = cluster.run();
      REQUIRE_FALSE(said);
      CHECK(said.error().code == Code::kTransient);
      REQUIRE(cluster.run());
      CHECK(cluster.is_whole());
    }
  }
}

TEST_CASE("of two concurrent runs the later one keeps the certificates of the first",
          "[cli][certs]") {
  Cluster cluster;
  bool raced = false;
  // Just before our first write another run comes and finishes.
  cluster.api.fail_next(
      [&](const kube::ApiRequest& request) {
        return request.method == "POST" && !raced && (raced = true);
      },
      {Code::kConflict, "secrets \"nervex-ca\" already exists"}, Applied::kYes);
  REQUIRE(cluster.run());
  CHECK(raced);
  CHECK(cluster.is_whole());
  CHECK(cluster.api.writes("POST", "/secrets").size() == 2);  // the authority once, the leaf once
}

TEST_CASE("endless conflicts end with an error", "[cli][certs]") {
  Cluster cluster;
  cluster.api.fail_next("PATCH", kPlaces.mutating, {Code::kConflict, "modified"}, Applied::kNo,
                        100);
  const auto said = cluster.run();
  REQUIRE_FALSE(said);
  CHECK(said.error().code == Code::kConflict);
  CHECK(said.error().message.find("5 conflicts") != std::string::npos);
  CHECK(cluster.api.writes("PATCH", kPlaces.mutating).size() == 5);
}

TEST_CASE("an authority from cert-manager is adopted", "[cli][certs]") {
  Cluster cluster;
  const SysTime now = cluster.clock.now();
  const KeyPair theirs = make_authority("nervex-ca", {now, now + std::chrono::days(3000)});
  Json secret = authority_secret(kPlaces, {theirs, theirs.cert, std::nullopt});
  cluster.api.add(kSecrets, "nervex-system", secret);
  REQUIRE(cluster.run());
  CHECK(cluster.data(kPlaces.authority_secret, "tls.crt") == theirs.cert);
  CHECK(cluster.is_whole());
}

}  // namespace nervex::certs
