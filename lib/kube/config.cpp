// The only user of yaml-cpp.
#include "kube/config.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/read_file.h"
#include "kube/api.h"
#include "kube/model/admission.h"
#include "kube/model/json.h"

namespace nervex::kube {
namespace {

namespace fs = std::filesystem;

// ---- kubeconfig files: server and user of the current context

constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";
// The cluster extension that is passed to its plugin.
constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

struct KubeconfigFile {
  fs::path folder;  // base of relative file names in it
  YAML::Node root;
};

// A named entry of one of the lists, with the folder of its file.
struct Entry {
  fs::path folder;
  YAML::Node body;
};

Error invalid(std::string message) { return {Code::kInvalid, "kubeconfig: " + std::move(message)}; }

std::string text_at(const YAML::Node& node, const char* key) {
  const YAML::Node at = node[key];
  return at && at.IsScalar() ? at.Scalar() : std::string();
}

// As in JSON: an unquoted scalar may be a boolean or a number.
Json to_json(const YAML::Node& node) {
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& item : node) list.push_back(to_json(item));
    return list;
  }
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& item : node) object[item.first.as<std::string>()] = to_json(item.second);
    return object;
  }
  if (!node.IsScalar()) return {};
  const std::string& text = node.Scalar();
  if (node.Tag() != "!") {
    const auto plain = parse_json(text);
    if (plain && plain->is_primitive()) return *plain;
  }
  return text;
}

// The entry of that name in clusters, contexts or users: {name: ..., cluster: {...}}.
Result<Entry> find_config_entry(const std::vector<KubeconfigFile>& files, const char* list,
                                const char* part, const std::string& name) {
  for (const auto& file : files) {
    for (const auto& item : file.root[list]) {
      if (item.IsMap() && text_at(item, "name") == name && item[part] && item[part].IsMap()) {
        return Entry{file.folder, item[part]};
      }
    }
  }
  return invalid(fmt::format("no entry \"{}\" in {}", name, list));
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

// A PEM text, and its file if it has its own.
struct Pem {
  std::string text;
  std::string file;
};

// The PEM text given as KEY-data, else the file that KEY names; empty if neither is there.
Result<Pem> pem_at(const Entry& entry, const std::string& key) {
  const std::string data = text_at(entry.body, (key + "-data").c_str());
  if (!data.empty()) {
    auto pem = base64_decode(without_spaces(data));
    if (!pem) return invalid(fmt::format("{}-data: {}", key, pem.error().message));
    return Pem{*std::move(pem), ""};
  }
  const std::string name = text_at(entry.body, key.c_str());
  if (name.empty()) return Pem{};
  const std::string file = (entry.folder / name).string();
  auto pem = read_file(file);
  if (!pem) return invalid(fmt::format("{}: {}", key, pem.error().message));
  return Pem{*std::move(pem), file};
}

// Refuses unsupported settings: without them the connection would be a different one.
Result<Nothing> refuse_unsupported(const Entry& entry, std::initializer_list<const char*> keys,
                                   std::string_view instead) {
  for (const char* key : keys) {
    const YAML::Node at = entry.body[key];
    if (!at || at.IsNull()) continue;
    if (at.IsScalar() && (at.Scalar().empty() || at.Scalar() == "false")) continue;
    return invalid(fmt::format("\"{}\" is not supported: {}", key, instead));
  }
  return ok();
}

Result<Nothing> read_cluster(const Entry& cluster, ConnectionConfig& config) {
  config.proxy_url = text_at(cluster.body, "proxy-url");
  if (!config.proxy_url.empty() && !config.proxy_url.starts_with("http://")) {
    return invalid(
        "\"proxy-url\" must begin with http://. For https and socks5 proxies run kubectl proxy, "
        "and "
        "give its address as the cluster's server");
  }
  config.accepts_any_certificate = text_at(cluster.body, "insecure-skip-tls-verify") == "true";
  config.url = text_at(cluster.body, "server");
  while (config.url.ends_with('/')) config.url.pop_back();
  if (config.url.empty()) return invalid("the cluster entry has no server");
  config.server_name = text_at(cluster.body, "tls-server-name");
  auto ca = pem_at(cluster, "certificate-authority");
  if (!ca) return ca.error();
  config.ca = std::move(ca->text);
  config.ca_file = std::move(ca->file);
  if (config.accepts_any_certificate && !config.ca.empty()) {
    return invalid(
        "insecure-skip-tls-verify and certificate-authority exclude each other: remove one");
  }
  return ok();
}

// The cluster's description for a plugin: spec.cluster of client.authentication.k8s.io.
std::string describe_cluster(const Entry& cluster, const ConnectionConfig& config) {
  Json info = {{"server", config.url}};
  if (!config.server_name.empty()) info["tls-server-name"] = config.server_name;
  if (!config.ca.empty()) info["certificate-authority-data"] = base64_encode(config.ca);
  if (config.accepts_any_certificate) info["insecure-skip-tls-verify"] = true;
  if (!config.proxy_url.empty()) info["proxy-url"] = config.proxy_url;
  for (const auto& item : cluster.body["extensions"]) {
    if (text_at(item, "name") != kExecExtension || !item["extension"]) continue;
    info["config"] = to_json(item["extension"]);
  }
  return to_text(info);
}

Result<ExecPlugin::Interactive> read_interactive(const YAML::Node& exec,
                                                 const std::string& api_version) {
  using Interactive = ExecPlugin::Interactive;
  const std::string mode = text_at(exec, "interactiveMode");
  if (mode == "Never") return Interactive::kNever;
  if (mode == "Always") return Interactive::kAlways;
  const bool may_be_absent = api_version == kExecV1Beta1;
  if (mode == "IfAvailable" || (mode.empty() && may_be_absent)) return Interactive::kIfAvailable;
  return invalid(
      fmt::format("exec: interactiveMode is \"{}\", expected Never, IfAvailable or Always", mode));
}

std::vector<std::string> texts_at(const YAML::Node& node, const char* key) {
  std::vector<std::string> texts;
  for (const auto& item : node[key]) {
    if (item.IsScalar()) texts.push_back(item.Scalar());
  }
  return texts;
}

// A command with a slash is relative to the kubeconfig's folder; others are looked up in PATH.
std::string resolve_command(const Entry& user, const std::string& command) {
  const bool is_path = command.find('/') != std::string::npos;
  return is_path ? (user.folder / command).string() : command;
}

Result<Nothing> read_exec(const Entry& user, const Entry& cluster, ConnectionConfig& config) {
  const YAML::Node exec = user.body["exec"];
  if (!exec || exec.IsNull()) return ok();
  ExecPlugin plugin;
  plugin.api_version = text_at(exec, "apiVersion");
  if (plugin.api_version != kExecV1 && plugin.api_version != kExecV1Beta1) {
    return invalid(fmt::format("exec: apiVersion is \"{}\", expected {} or {}", plugin.api_version,
                               kExecV1, kExecV1Beta1));
  }
  plugin.command = resolve_command(user, text_at(exec, "command"));
  if (plugin.command.empty()) return invalid("exec: no command");
  plugin.args = texts_at(exec, "args");
  for (const auto& item : exec["env"]) {
    plugin.env.push_back(text_at(item, "name") + "=" + text_at(item, "value"));
  }
  plugin.install_hint = text_at(exec, "installHint");
  const auto interactive = read_interactive(exec, plugin.api_version);
  if (!interactive) return interactive.error();
  plugin.interactive = *interactive;
  if (text_at(exec, "provideClusterInfo") == "true") {
    plugin.cluster = describe_cluster(cluster, config);
  }
  config.exec = std::move(plugin);
  return ok();
}

// The headers of client-go's transport package (round_trippers.go).
Result<Nothing> read_impersonation(const YAML::Node& user, ConnectionConfig& config) {
  auto& headers = config.impersonation;
  const std::string uid = text_at(user, "as-uid");
  if (!uid.empty()) headers.emplace("Impersonate-Uid", uid);
  for (auto& group : texts_at(user, "as-groups")) headers.emplace("Impersonate-Group", group);
  for (const auto& item : user["as-user-extra"]) {
    const std::string key = percent_encode(item.first.as<std::string>());
    for (const auto& value : item.second) {
      headers.emplace("Impersonate-Extra-" + key, value.as<std::string>());
    }
  }
  const std::string name = text_at(user, "as");
  if (name.empty() && !headers.empty()) {
    return invalid("as-uid, as-groups and as-user-extra need \"as\"");
  }
  if (!name.empty()) headers.emplace("Impersonate-User", name);
  return ok();
}

Result<Nothing> read_user(const Entry& user, const Entry& cluster, ConnectionConfig& config) {
  auto fine = refuse_unsupported(user, {"auth-provider", "username", "password"},
                                 "use a token, a tokenFile, a client certificate or exec");
  if (!fine) return fine;
  if (auto read = read_impersonation(user.body, config); !read) return read;
  auto cert = pem_at(user, "client-certificate");
  if (!cert) return cert.error();
  auto key = pem_at(user, "client-key");
  if (!key) return key.error();
  if (cert->text.empty() != key->text.empty()) {
    return invalid("client-certificate and client-key are needed together");
  }
  config.client_cert = std::move(cert->text);
  config.client_cert_file = std::move(cert->file);
  config.client_key = std::move(key->text);
  config.client_key_file = std::move(key->file);
  config.token = text_at(user.body, "token");
  const std::string token_file = text_at(user.body, "tokenFile");
  if (!token_file.empty()) config.token_file = (user.folder / token_file).string();
  return read_exec(user, cluster, config);
}

// A context without a user is anonymous, as in clientcmd (client_config.go, getAuthInfo).
Result<Entry> find_user(const std::vector<KubeconfigFile>& files, const Entry& context) {
  const std::string name = text_at(context.body, "user");
  if (name.empty()) return Entry{context.folder, YAML::Node(YAML::NodeType::Map)};
  return find_config_entry(files, "users", "user", name);
}

std::string current_context(const std::vector<KubeconfigFile>& files) {
  for (const auto& file : files) {
    std::string name = text_at(file.root, "current-context");
    if (!name.empty()) return name;
  }
  return {};
}

// `wanted`: a context's name; empty: the current context.
Result<ConnectionConfig> read_context(const std::vector<KubeconfigFile>& files,
                                      const std::string& wanted) {
  const std::string name = wanted.empty() ? current_context(files) : wanted;
  if (name.empty()) return invalid("no current-context");
  const auto context = find_config_entry(files, "contexts", "context", name);
  if (!context) return context.error();
  const auto cluster =
      find_config_entry(files, "clusters", "cluster", text_at(context->body, "cluster"));
  if (!cluster) return cluster.error();
  const auto user = find_user(files, *context);
  if (!user) return user.error();

  ConnectionConfig config;
  config.ns = text_at(context->body, "namespace");
  if (config.ns.empty()) config.ns = "default";
  if (auto read = read_cluster(*cluster, config); !read) return read.error();
  if (auto read = read_user(*user, *cluster, config); !read) return read.error();
  return config;
}

// Of entries with the same name in several files, the first counts. kInvalid names the part that is
// missing or not supported.
Result<ConnectionConfig> read_kubeconfigs(const std::vector<fs::path>& paths,
                                          const std::string& context = "") {
  try {
    std::vector<KubeconfigFile> files;
    for (const auto& path : paths) {
      const auto text = read_file(path.string());
      if (!text) return invalid(text.error().message);
      const YAML::Node root = YAML::Load(*text);
      if (root.IsNull()) continue;  // empty, as from `touch`: adds nothing
      if (!root.IsMap()) return invalid(path.string() + " is not a kubeconfig");
      files.push_back({path.parent_path(), root});
    }
    return read_context(files, context);
  } catch (const YAML::Exception& e) {
    return invalid(e.what());
  }
}

// ---- environment and service account

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<fs::path> existing_files(std::string_view list) {
  std::vector<fs::path> files;
  while (!list.empty()) {
    const auto end = list.find(':');
    const fs::path file(list.substr(0, end));
    if (!file.empty() && fs::exists(file)) files.push_back(file);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return files;
}

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text;
}

std::string in_cluster_url(const std::string& host, const std::string& port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("https://[{}]:{}", host, port)
                 : fmt::format("https://{}:{}", host, port);
}

}  // namespace

Result<ConnectionConfig> load_kubeconfig(const std::string& path) {
  return read_kubeconfigs({path});
}

Result<ConnectionConfig> load_in_cluster(const std::string& folder) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return Error{Code::kInvalid,
                 "not in a cluster (KUBERNETES_SERVICE_HOST is not set) and no kubeconfig given"};
  }
  ConnectionConfig config;
  config.url = in_cluster_url(host, port);
  config.token_file = folder + "/token";
  config.ca_file = folder + "/ca.crt";
  auto ca = read_file(config.ca_file);
  if (!ca) return ca.error();
  config.ca = *std::move(ca);
  const auto ns = read_file(folder + "/namespace");
  config.ns = ns ? trimmed(*ns) : std::string();
  if (config.ns.empty()) config.ns = "default";
  return config;
}

Result<ConnectionConfig> load_config(const std::string& path) {
  return path.empty() ? load_in_cluster() : load_kubeconfig(path);
}

Result<ConnectionConfig> load_user_config(const std::string& path, const std::string& context,
                                          const std::string& pod_folder) {
  if (!path.empty()) return read_kubeconfigs({path}, context);
  const std::string list = environment("KUBECONFIG");
  const auto files = existing_files(list.empty() ? environment("HOME") + "/.kube/config" : list);
  if (!files.empty()) return read_kubeconfigs(files, context);
  const bool is_pod = !environment("KUBERNETES_SERVICE_HOST").empty() &&
                      fs::exists(pod_folder + "/token") && context.empty();
  if (is_pod) return load_in_cluster(pod_folder);
  return invalid(fmt::format(
      "{}, and this is not a pod with a service account: set KUBECONFIG or give --kubeconfig",
      list.empty() ? "there is no ~/.kube/config"
                   : fmt::format("no file of KUBECONFIG={} exists", list)));
}

}  // namespace nervex::kube
