#include "kube/auth/exec_plugin.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kube/model/json.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Interactive = ExecPlugin::Interactive;

ExecPlugin a_plugin() {
  ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  plugin.command = "aws";
  return plugin;
}

std::string answer(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" +
         status + "}\n";
}

TEST_CASE("a plugin gets the protocol's version and whether it may prompt", "[kube][exec]") {
  CHECK(*parse_json(exec_info(a_plugin(), true)) ==
        *parse_json(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
            "spec":{"interactive":true}})"));
  ExecPlugin plugin = a_plugin();
  plugin.api_version = "client.authentication.k8s.io/v1beta1";
  plugin.cluster = R"({"server":"https://h"})";
  CHECK(*parse_json(exec_info(plugin, false)) ==
        *parse_json(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",
            "spec":{"interactive":false,"cluster":{"server":"https://h"}}})"));
}

TEST_CASE("a plugin gets the terminal as interactiveMode says", "[kube][exec]") {
  const auto with = [](Interactive mode, bool has_terminal) {
    ExecPlugin plugin = a_plugin();
    plugin.interactive = mode;
    return is_interactive(plugin, has_terminal);
  };
  CHECK_FALSE(*with(Interactive::kNever, true));
  CHECK_FALSE(*with(Interactive::kNever, false));
  CHECK(*with(Interactive::kIfAvailable, true));
  CHECK_FALSE(*with(Interactive::kIfAvailable, false));
  CHECK(*with(Interactive::kAlways, true));
  CHECK(with(Interactive::kAlways, false).error().code == Code::kInvalid);
}

TEST_CASE("a plugin's answer holds a token, a certificate, or both", "[kube][exec]") {
  struct Row {
    std::string status;
    ExecCredential want;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"token":"t"})", {"t", "", "", {}}},
      {R"({"clientCertificateData":"C","clientKeyData":"K"})", {"", "C", "K", {}}},
      {R"({"token":"t","clientCertificateData":"C","clientKeyData":"K",
           "expirationTimestamp":"2026-01-01T00:00:00Z"})",
       {"t", "C", "K", *parse_rfc3339("2026-01-01T00:00:00Z")}},
  }));
  INFO(row.status);
  const auto read = read_exec_credential(a_plugin(), answer(row.status));
  REQUIRE(read);
  CHECK(*read == row.want);
}

TEST_CASE("an invalid answer of a plugin is refused without being quoted", "[kube][exec]") {
  struct Row {
    std::string when;
    std::string text;
    std::string says;
  };
  const auto row = GENERATE(values<Row>({
      {"it is empty", "", "not a JSON object"},
      {"it is no JSON", "SECRET", "not a JSON object"},
      {"it is a list", "[]", "not a JSON object"},
      {"it is something else", R"({"kind":"Pod","apiVersion":"v1","status":{"token":"SECRET"}})",
       "\"Pod\""},
      {"it is of another version",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
       "v1beta1"},
      {"it holds nothing", answer("{}"), "neither"},
      {"it has no status", answer("null"), "neither"},
      {"the key is missing", answer(R"({"clientCertificateData":"SECRET"})"), "together"},
      {"the certificate is missing", answer(R"({"token":"SECRET","clientKeyData":"SECRET"})"),
       "together"},
      {"its end is no time", answer(R"({"token":"SECRET","expirationTimestamp":"tomorrow"})"),
       "expirationTimestamp"},
  }));
  INFO("when " << row.when);
  const auto read = read_exec_credential(a_plugin(), row.text);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::kInvalid);
  CHECK_THAT(read.error().message, ContainsSubstring(row.says) && !ContainsSubstring("SECRET"));
}

TEST_CASE("a credential expires shortly before its end", "[kube][exec]") {
  const SysTime end = *parse_rfc3339("2026-01-01T00:00:00Z");
  const ExecCredential credential{"t", "", "", end};
  CHECK_FALSE(is_expired(credential, end - 11s));
  CHECK(is_expired(credential, end - 10s));
  CHECK(is_expired(credential, end + 1h));
  CHECK_FALSE(is_expired({"t", "", "", std::nullopt}, end));
}

TEST_CASE("a plugin's failure says what it wrote and how to fix it", "[kube][exec]") {
  ExecPlugin plugin = a_plugin();
  CHECK(exec_failure(plugin, "exit code 1", "") == "credential plugin aws: exit code 1");
  plugin.install_hint = "\nInstall it from example.test.\n";
  CHECK(exec_failure(plugin, "exit code 1", "token has expired\n") ==
        "credential plugin aws: exit code 1: token has expired; Install it from example.test.");
  const std::string much = exec_failure(plugin, "x", "begin" + std::string(100'000, 'x') + "end");
  CHECK(much.size() < 3000);
  CHECK_THAT(much, ContainsSubstring("xend;"));  // the last words count
}

}  // namespace
}  // namespace nervex::kube
