// What a client presents and trusts while its files, plugins and certificates change.
#include "kube/auth/identity.h"

#include <sys/stat.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kube/client.h"
#include "tests/base/cert_mirror.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_folder.h"

namespace nervex::kube {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::CertMirror;
using test::TestCa;
using test::TestIdentity;
using testing::ScriptedServer;
using testing::TempFolder;
using testing::whole_reply;

const ApiRequest kGet{"GET", "/api", "", ""};

// A plugin whose answers are the files "answer" of the moment; it counts its runs.
class Plugin {
 public:
  explicit Plugin(const TempFolder& folder) : folder_(folder) {
    script_ = folder_.write(
        "plugin", "#!/bin/sh\ncd '" + folder_.path() + "'\necho run >>runs\ncat answer\n");
    chmod(script_.c_str(), 0700);
  }

  void answer(const Json& status) const {
    folder_.write("answer", to_text({{"kind", "ExecCredential"},
                                     {"apiVersion", "client.authentication.k8s.io/v1beta1"},
                                     {"status", status}}));
  }
  int runs() const {
    std::ifstream in(folder_.path() + "/runs");
    int lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
  }
  ExecPlugin config() const {
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1beta1";
    plugin.command = script_;
    plugin.interactive = ExecPlugin::Interactive::kNever;
    return plugin;
  }

 private:
  const TempFolder& folder_;
  std::string script_;
};

ConnectionConfig config_with(const Plugin& plugin, const std::string& url) {
  ConnectionConfig config;
  config.url = url;
  config.exec = plugin.config();
  return config;
}

TEST_CASE("a plugin's token is shown, and fetched again after a 401", "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  plugin.answer({{"token", "first"}});
  ScriptedServer server({whole_reply(200, "{}"), whole_reply(200, "{}"), whole_reply(401, "{}"),
                         whole_reply(200, "{}")});
  Client client(config_with(plugin, server.url()), "t");
  CHECK(client.send(kGet));
  CHECK(client.send(kGet));
  CHECK(plugin.runs() == 1);
  plugin.answer({{"token", "second"}});
  CHECK(client.send(kGet));
  CHECK(plugin.runs() == 2);
  CHECK_THAT(server.requests().at(2), ContainsSubstring("Bearer first\r\n"));
  CHECK_THAT(server.requests().at(3), ContainsSubstring("Bearer second\r\n"));
}

TEST_CASE("a plugin whose credentials are refused is not run endlessly", "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  plugin.answer({{"token", "bad"}});
  ScriptedServer server({whole_reply(401, "{}"), whole_reply(401, "{}"), whole_reply(401, "{}")});
  Client client(config_with(plugin, server.url()), "t");
  CHECK(client.send(kGet).error().code == Code::kUnauthorized);
  CHECK(plugin.runs() == 2);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a watch that was refused leads to another credential", "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  plugin.answer({{"token", "first"}});
  ScriptedServer server({whole_reply(401, "{}"), testing::stream_reply({"line"}, true)});
  Client client(config_with(plugin, server.url()), "t");
  const auto ignore = [](std::string_view) { return true; };
  CHECK(client.stream("/api?watch=true", ignore, {}).error().code == Code::kUnauthorized);
  plugin.answer({{"token", "second"}});
  CHECK(client.stream("/api?watch=true", ignore, {}));
  CHECK_THAT(server.requests().at(1), ContainsSubstring("Bearer second\r\n"));
}

TEST_CASE("a plugin's failure is a transient error, and no request is sent", "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  ScriptedServer server({whole_reply(200, "{}")});
  Client client(config_with(plugin, server.url()), "t");
  const auto reply = client.send(kGet);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::kTransient);
  CHECK_THAT(reply.error().message,
             ContainsSubstring("GET /api: credential plugin") && ContainsSubstring("answer"));
  CHECK(server.connections() == 0);
  plugin.answer({{"token", "t"}});
  CHECK(client.send(kGet));
}

TEST_CASE("inline credentials of the kubeconfig win over its plugin", "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  plugin.answer({{"token", "plugin's"}});
  ScriptedServer server({whole_reply(200, "{}")});
  ConnectionConfig config = config_with(plugin, server.url());
  config.token = "fixed";
  Client client(config, "t");
  CHECK(client.send(kGet));
  CHECK_THAT(server.requests().at(0), ContainsSubstring("Bearer fixed\r\n"));
  CHECK(plugin.runs() == 0);
}

TEST_CASE("a plugin's certificate is used, and its successor on new connections",
          "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  const TestCa ca;
  const TestIdentity first = ca.issue({"DNS:first"});
  const TestIdentity second = ca.issue({"DNS:second"});
  const CertMirror server(ca.issue({"IP:127.0.0.1"}));
  plugin.answer({{"clientCertificateData", first.cert},
                 {"clientKeyData", first.key},
                 {"expirationTimestamp", "2020-01-01T00:00:00Z"}});  // each time again
  ConnectionConfig config = config_with(plugin, server.url());
  config.ca = ca.pem();
  Client client(config, "t");
  CHECK(*client.send(kGet) == first.cert);
  plugin.answer({{"clientCertificateData", second.cert}, {"clientKeyData", second.key}});
  CHECK(*client.send(kGet) == second.cert);
}

TEST_CASE("a plugin's certificate that does not fit its key is an error that says so",
          "[kube][identity]") {
  const TempFolder folder;
  const Plugin plugin(folder);
  const TestCa ca;
  const CertMirror server(ca.issue({"IP:127.0.0.1"}));
  plugin.answer({{"clientCertificateData", ca.issue({"DNS:a"}).cert},
                 {"clientKeyData", ca.issue({"DNS:a"}).key}});
  ConnectionConfig config = config_with(plugin, server.url());
  config.ca = ca.pem();
  Client client(config, "t");
  const auto reply = client.send(kGet);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::kTransient);
  CHECK_THAT(reply.error().message, ContainsSubstring("is not the key of the certificate"));
}

// Shows `identity` to a server with a certificate of `ca`, both from files.
ConnectionConfig config_in(const TempFolder& folder, const std::string& url, const TestCa& ca,
                           const TestIdentity& identity) {
  ConnectionConfig config;
  config.url = url;
  config.ca = ca.pem();
  config.ca_file = folder.write("ca.crt", config.ca);
  config.client_cert = identity.cert;
  config.client_cert_file = folder.write("tls.crt", identity.cert);
  config.client_key = identity.key;
  config.client_key_file = folder.write("tls.key", identity.key);
  return config;
}

TEST_CASE("a server with a new authority is trusted when the file says so", "[kube][identity]") {
  const TempFolder folder;
  const TestCa old_ca;
  const TestCa new_ca;
  const TestIdentity me = old_ca.issue({"DNS:me"});
  const CertMirror server(new_ca.issue({"IP:127.0.0.1"}));
  Client client(config_in(folder, server.url(), old_ca, me), "t");
  const auto refused = client.send(kGet);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kUnauthorized);
  CHECK(server.connections() == 1);  // the same file would lead to the same end

  folder.write("ca.crt", old_ca.pem() + new_ca.pem());
  CHECK(*client.send(kGet) == me.cert);  // at once, without a restart
  CHECK(server.connections() <= 3);
}

TEST_CASE("a changed client certificate is shown on new connections", "[kube][identity]") {
  const TempFolder folder;
  const TestCa ca;
  const TestIdentity first = ca.issue({"DNS:first"});
  const TestIdentity second = ca.issue({"DNS:second"});
  const CertMirror server(ca.issue({"IP:127.0.0.1"}));
  const ConnectionConfig config = config_in(folder, server.url(), ca, first);
  HttpClient http({.url = config.url,
                   .ca = config.ca,
                   .client_cert = config.client_cert,
                   .client_key = config.client_key});
  const SystemClock clock;
  Identity identity(config, http, clock);
  const auto shown = [&] {
    REQUIRE(identity.present());
    return http.send("GET", "/", {}, "", "")->body;
  };
  CHECK(shown() == first.cert);

  // A key that does not fit, for the other half is still to come: the old pair stays in use.
  folder.write("tls.crt", second.cert);
  CHECK_FALSE(identity.refused({}));
  CHECK(shown() == first.cert);
  folder.write("tls.key", second.key);
  CHECK(identity.refused({}));
  CHECK(shown() == second.cert);

  folder.write("ca.crt", "no certificate");
  CHECK_FALSE(identity.failed({Code::kUnauthorized, "untrusted"}));
  CHECK(shown() == second.cert);
}

}  // namespace
}  // namespace nervex::kube
