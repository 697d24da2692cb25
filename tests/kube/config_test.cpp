#include <cstdlib>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kube/config.h"
#include "kube/model/json.h"
#include "tests/support/temp_folder.h"

namespace nervex::kube {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::TempFolder;

// A kubeconfig with these bodies of its only cluster and user.
std::string kubeconfig(const std::string& cluster, const std::string& user,
                       const std::string& ns = "") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts:\n- name: other\n  context: {cluster: x, user: x}\n"
         "- name: here\n  context: {cluster: c, user: u" +
         (ns.empty() ? "" : ", namespace: " + ns) + "}\n" +
         "clusters:\n- name: c\n  cluster: " + cluster + "\nusers:\n- name: u\n  user: " + user +
         "\n";
}

// Sets a variable of the environment for one test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* old = std::getenv(name);
    if (old != nullptr) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST_CASE("a kubeconfig gives server, trust and identity of its current context",
          "[kube][config]") {
  TempFolder folder;
  folder.write("pki/ca.crt", "CA PEM");
  const auto config = load_kubeconfig(folder.write(
      "config", kubeconfig("{server: 'https://h:6443/', certificate-authority: pki/ca.crt, "
                           "tls-server-name: kubernetes}",
                           "{client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t}",
                           "team-a")));
  REQUIRE(config);
  CHECK(config->url == "https://h:6443");
  CHECK(config->ca == "CA PEM");
  CHECK(config->server_name == "kubernetes");
  CHECK(config->client_cert == "CERT");
  CHECK(config->client_key == "KEY");
  CHECK(config->token == "t");
  CHECK(config->token_file.empty());
  CHECK(config->ns == "team-a");
  CHECK(config->ca_file == folder.path() + "/pki/ca.crt");  // looked at again while we run
  CHECK(config->client_cert_file.empty());
  CHECK(config->client_key_file.empty());
  CHECK_FALSE(config->exec);
}

TEST_CASE("inline data wins over files, and relative paths start at the kubeconfig's folder",
          "[kube][config]") {
  TempFolder folder;
  const std::string absolute = folder.write("elsewhere/cert", "CERT FILE");
  folder.write("key", "KEY FILE");
  const auto config = load_kubeconfig(folder.write(
      "config", kubeconfig("{server: https://h, certificate-authority: absent, "
                           "certificate-authority-data: Q0E=, insecure-skip-tls-verify: false}",
                           "{client-certificate: '" + absolute +
                               "', client-key: key, tokenFile: run/token}")));
  REQUIRE(config);
  CHECK(config->ca == "CA");
  CHECK(config->client_cert == "CERT FILE");
  CHECK(config->client_key == "KEY FILE");
  CHECK(config->ca_file.empty());
  CHECK(config->client_cert_file == absolute);
  CHECK(config->client_key_file == folder.path() + "/key");
  CHECK(config->token_file == folder.path() + "/run/token");
  CHECK(config->ns == "default");
}

TEST_CASE("a kubeconfig names a proxy, an unverified server and another user", "[kube][config]") {
  TempFolder folder;
  const auto config = load_kubeconfig(folder.write(
      "config",
      kubeconfig("{server: https://h, proxy-url: 'http://p:3128', insecure-skip-tls-verify: true}",
                 "{token: t, as: ann, as-uid: '7', as-groups: [a, b], "
                 "as-user-extra: {example.com/scope: [x, y]}}")));
  REQUIRE(config);
  CHECK(config->proxy_url == "http://p:3128");
  CHECK(config->accepts_any_certificate);
  const std::multimap<std::string, std::string> want = {
      {"Impersonate-User", "ann"},
      {"Impersonate-Uid", "7"},
      {"Impersonate-Group", "a"},
      {"Impersonate-Group", "b"},
      {"Impersonate-Extra-example.com%2Fscope", "x"},
      {"Impersonate-Extra-example.com%2Fscope", "y"}};
  CHECK(config->impersonation == want);
}

TEST_CASE("without a kubeconfig the CLI uses the service account of its pod", "[kube][config]") {
  TempFolder folder;
  folder.write("ca.crt", "CA");
  folder.write("token", "T");
  folder.write("namespace", "rl");
  const Environment home("HOME", folder.path());
  const Environment port("KUBERNETES_SERVICE_PORT", "443");
  const Environment list("KUBECONFIG", GENERATE("", "/absent"));
  {
    const Environment host("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    const auto config = load_user_config("", "", folder.path());
    REQUIRE(config);
    CHECK(config->url == "https://10.96.0.1:443");
    CHECK(config->ns == "rl");
    CHECK_FALSE(load_user_config("", "a-context", folder.path()));
    CHECK_FALSE(load_user_config("/absent", "", folder.path()));
    CHECK_FALSE(load_user_config("", "", folder.path() + "/no-account"));
  }
  const Environment host("KUBERNETES_SERVICE_HOST", "");
  CHECK_THAT(load_user_config("", "", folder.path()).error().message,
             ContainsSubstring("give --kubeconfig"));
}

TEST_CASE("a context without a user is an anonymous one", "[kube][config]") {
  const auto context = GENERATE("{cluster: c}", "{cluster: c, user: ''}", "{cluster: c, user: }");
  INFO(context);
  TempFolder folder;
  const auto config = load_kubeconfig(folder.write(
      "config", std::string("current-context: x\ncontexts: [{name: x, context: ") + context +
                    "}]\nclusters: [{name: c, cluster: {server: https://h}}]\n"
                    "users: [{name: u, user: {token: t}}]"));
  REQUIRE(config);
  CHECK(config->url == "https://h");
  CHECK(config->token.empty());
  CHECK(config->client_cert.empty());
  CHECK_FALSE(config->exec);
}

TEST_CASE("a kubeconfig names a credential plugin", "[kube][config]") {
  TempFolder folder;
  const auto config = load_kubeconfig(folder.write(
      "config",
      kubeconfig("{server: https://h, tls-server-name: kubernetes, "
                 "certificate-authority-data: Q0E=, extensions: [{name: other, extension: {}}, "
                 "{name: client.authentication.k8s.io/exec, "
                 "extension: {audience: 'abc', level: 7, quoted: '7', list: [true, x], none: }}]}",
                 "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, "
                 "args: [eks, get-token], env: [{name: AWS_PROFILE, value: dev}], "
                 "installHint: see example.test, interactiveMode: Never, "
                 "provideClusterInfo: true}}")));
  REQUIRE(config);
  REQUIRE(config->exec);
  ExecPlugin want;
  want.api_version = "client.authentication.k8s.io/v1";
  want.command = "aws";
  want.args = {"eks", "get-token"};
  want.env = {"AWS_PROFILE=dev"};
  want.install_hint = "see example.test";
  want.interactive = ExecPlugin::Interactive::kNever;
  want.cluster = to_text(*parse_json(
      R"({"server":"https://h","tls-server-name":"kubernetes","certificate-authority-data":"Q0E=",
          "config":{"audience":"abc","level":7,"quoted":"7","list":[true,"x"],"none":null}})"));
  CHECK(*config->exec == want);
}

TEST_CASE("a plugin's relative path starts at its kubeconfig", "[kube][config]") {
  TempFolder folder;
  const auto command = [&](const std::string& given) {
    return load_kubeconfig(
               folder.write("config", kubeconfig("{server: https://h}",
                                                 "{exec: {apiVersion: "
                                                 "client.authentication.k8s.io/v1beta1, command: " +
                                                     given + "}}")))
        ->exec->command;
  };
  CHECK(command("aws") == "aws");
  CHECK(command("bin/aws") == folder.path() + "/bin/aws");
  CHECK(command("/usr/bin/aws") == "/usr/bin/aws");
}

TEST_CASE("a kubeconfig that is a folder or has no end is refused", "[kube][config]") {
  const testing::TempFolder folder;
  for (const std::string& path : {folder.path(), std::string("/dev/zero")}) {
    const auto config = load_kubeconfig(path);
    REQUIRE_FALSE(config);
    CHECK(config.error().message.find("cannot read " + path) != std::string::npos);
  }
}

TEST_CASE("a kubeconfig that cannot be followed is refused, naming the part", "[kube][config]") {
  struct Row {
    std::string when;
    std::string text;
    std::string says;
  };
  const std::string cluster = "{server: https://h}";
  const auto row = GENERATE_COPY(values<Row>({
      {"it is no YAML", "a: [", "kubeconfig"},
      {"it is no map", "- a", "not a kubeconfig"},
      {"it is empty", "", "no current-context"},
      {"no context is current", "contexts: []", "current-context"},
      {"the context is not there", "current-context: x\ncontexts: []", "\"x\" in contexts"},
      {"the cluster is not there",
       "current-context: x\ncontexts: [{name: x, context: {cluster: nowhere, user: u}}]",
       "\"nowhere\" in clusters"},
      {"the user is not there",
       "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: nobody}}]\n"
       "clusters: [{name: c, cluster: {server: https://h}}]",
       "\"nobody\" in users"},
      {"the server is missing", kubeconfig("{}", "{}"), "server"},
      {"verification is switched off, and an authority is given",
       kubeconfig("{server: https://h, insecure-skip-tls-verify: true, "
                  "certificate-authority-data: Q0E=}",
                  "{}"),
       "insecure-skip-tls-verify"},
      {"a proxy of another kind is named",
       kubeconfig("{server: https://h, proxy-url: 'socks5://p'}", "{}"), "run kubectl proxy"},
      {"the CA file is missing",
       kubeconfig("{server: https://h, certificate-authority: absent.crt}", "{}"), "absent.crt"},
      {"the CA is no base64",
       kubeconfig("{server: https://h, certificate-authority-data: '%'}", "{}"),
       "certificate-authority-data"},
      {"the certificate lacks its key", kubeconfig(cluster, "{client-certificate-data: Q0U=}"),
       "client-key"},
      {"a credential plugin has no version", kubeconfig(cluster, "{exec: {command: aws}}"),
       "exec: apiVersion is \"\""},
      {"a credential plugin is too old",
       kubeconfig(cluster,
                  "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}}"),
       "v1alpha1"},
      {"a credential plugin has no command",
       kubeconfig(cluster, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1}}"),
       "exec: no command"},
      {"a credential plugin does not say whether it talks to people",
       kubeconfig(cluster, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}}"),
       "interactiveMode"},
      {"an old credential plugin is asked for", kubeconfig(cluster, "{auth-provider: {name: x}}"),
       "auth-provider"},
      {"a password is given", kubeconfig(cluster, "{username: u, password: p}"), "username"},
      {"it impersonates a group without a user", kubeconfig(cluster, "{as-groups: [a]}"),
       "need \"as\""},
  }));
  INFO("when " << row.when);
  TempFolder folder;
  const auto config = load_kubeconfig(folder.write("config", row.text));
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kInvalid);
  CHECK_THAT(config.error().message, ContainsSubstring(row.says));
  CHECK_THAT(config.error().message, !ContainsSubstring("Q0U"));  // no secret in a log
}

TEST_CASE("in a cluster the mounted service account counts", "[kube][config]") {
  TempFolder folder;
  folder.write("ca.crt", "CA");
  folder.write("namespace", "nervex-system\n");
  const Environment port("KUBERNETES_SERVICE_PORT", "443");
  {
    const Environment host("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    const auto config = load_in_cluster(folder.path());
    REQUIRE(config);
    CHECK(config->url == "https://10.96.0.1:443");
    CHECK(config->ca == "CA");
    CHECK(config->ca_file == folder.path() + "/ca.crt");
    CHECK(config->token_file == folder.path() + "/token");
    CHECK(config->ns == "nervex-system");
  }
  {
    const Environment host("KUBERNETES_SERVICE_HOST", "fd00::1");
    CHECK(load_in_cluster(folder.path())->url == "https://[fd00::1]:443");
    CHECK_FALSE(load_in_cluster(folder.path() + "/absent"));
  }
  const Environment host("KUBERNETES_SERVICE_HOST", "");
  CHECK_THAT(load_in_cluster(folder.path()).error().message, ContainsSubstring("not in a cluster"));
}

TEST_CASE("the CLI finds its kubeconfig as kubectl does", "[kube][config]") {
  TempFolder folder;
  const std::string one = folder.write("one", kubeconfig("{server: https://one}", "{token: 1}"));
  const std::string two = folder.write("two", kubeconfig("{server: https://two}", "{token: 2}"));
  folder.write(".kube/config", kubeconfig("{server: https://home}", "{}"));
  const Environment home("HOME", folder.path());
  {
    const Environment unset("KUBECONFIG", "");
    CHECK(load_user_config("")->url == "https://home");
    CHECK(load_user_config(two)->url == "https://two");
  }
  {
    const Environment list("KUBECONFIG", folder.path() + "/absent:" + one + ":" + two);
    CHECK(load_user_config("")->url == "https://one");
    CHECK(load_user_config(two)->url == "https://two");
  }
  {
    const std::string context = folder.write("context", "current-context: here\n");
    const Environment list("KUBECONFIG", context + ":" + two);
    CHECK(load_user_config("")->url == "https://two");  // entries of several files together
  }
  for (const char* nothing : {"", "\n", "# nothing yet\n"}) {
    INFO("a file holds \"" << nothing << "\"");
    const std::string empty = folder.write("empty", nothing);
    const Environment list("KUBECONFIG", empty + ":" + two);
    const auto config = load_user_config("");
    REQUIRE(config);
    CHECK(config->url == "https://two");
  }
  const Environment absent("KUBECONFIG", folder.path() + "/absent");
  CHECK_FALSE(load_user_config(""));
}

TEST_CASE("the CLI uses another context if it is named", "[kube][config]") {
  TempFolder folder;
  const std::string file =
      folder.write("config", kubeconfig("{server: https://here}", "{token: 1}"));
  CHECK(load_user_config(file, "here")->url == "https://here");
  const auto other = load_user_config(file, "other");
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message, ContainsSubstring("x"));
  const auto absent = load_user_config(file, "absent");
  REQUIRE_FALSE(absent);
  CHECK_THAT(absent.error().message, ContainsSubstring("absent"));
}

}  // namespace
}  // namespace nervex::kube
