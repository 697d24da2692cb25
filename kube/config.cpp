#include "kube/config.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "kube/model/admission.h"

namespace nervex::kube {
namespace {

namespace fs = std::filesystem;

struct KubeconfigFile {
  fs::path folder;  // relative file names in it count from here
  YAML::Node root;
};

// A named entry of one of the lists, with the folder of the file it stands in.
struct Entry {
  fs::path folder;
  YAML::Node body;
};

Error invalid(std::string message) { return {Code::kInvalid, "kubeconfig: " + std::move(message)}; }

Result<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Code::kInvalid, fmt::format("cannot read {}", path.string())};
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::string text_at(const YAML::Node& node, const char* key) {
  const YAML::Node at = node[key];
  return at && at.IsScalar() ? at.Scalar() : std::string();
}

// The entry of that name in clusters, contexts or users: {name: ..., cluster: {...}}.
Result<Entry> entry_of(const std::vector<KubeconfigFile>& files, const char* list, const char* part,
                       const std::string& name) {
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

// The PEM text given as KEY-data, else the file that KEY names; empty if neither is there.
Result<std::string> pem_at(const Entry& entry, const std::string& key) {
  const std::string data = text_at(entry.body, (key + "-data").c_str());
  if (!data.empty()) {
    auto pem = base64_decode(without_spaces(data));
    if (!pem) return invalid(fmt::format("{}-data: {}", key, pem.error().message));
    return pem;
  }
  const std::string file = text_at(entry.body, key.c_str());
  if (file.empty()) return std::string();
  auto pem = read_file(entry.folder / file);
  if (!pem) return invalid(fmt::format("{}: {}", key, pem.error().message));
  return pem;
}

// What we would have to obey and cannot: going on without it would be somebody else's connection.
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
  const auto fine = refuse_unsupported(
      cluster, {"insecure-skip-tls-verify", "proxy-url"},
      "the server is always verified and connected to directly; give its certificate-authority");
  if (!fine) return fine;
  config.url = text_at(cluster.body, "server");
  while (config.url.ends_with('/')) config.url.pop_back();
  if (config.url.empty()) return invalid("the cluster has no server");
  config.server_name = text_at(cluster.body, "tls-server-name");
  auto ca = pem_at(cluster, "certificate-authority");
  if (!ca) return ca.error();
  config.ca = *std::move(ca);
  return ok();
}

Result<Nothing> read_user(const Entry& user, ConnectionConfig& config) {
  const auto fine = refuse_unsupported(user,
                                       {"exec", "auth-provider", "username", "password", "as",
                                        "as-uid", "as-groups", "as-user-extra"},
                                       "use a token, a tokenFile or a client certificate");
  if (!fine) return fine;
  auto cert = pem_at(user, "client-certificate");
  if (!cert) return cert.error();
  auto key = pem_at(user, "client-key");
  if (!key) return key.error();
  if (cert->empty() != key->empty()) {
    return invalid("client-certificate and client-key are needed together");
  }
  config.client_cert = *std::move(cert);
  config.client_key = *std::move(key);
  config.token = text_at(user.body, "token");
  const std::string token_file = text_at(user.body, "tokenFile");
  if (!token_file.empty()) config.token_file = (user.folder / token_file).string();
  return ok();
}

std::string current_context(const std::vector<KubeconfigFile>& files) {
  for (const auto& file : files) {
    const std::string name = text_at(file.root, "current-context");
    if (!name.empty()) return name;
  }
  return {};
}

Result<ConnectionConfig> read_context(const std::vector<KubeconfigFile>& files) {
  const std::string name = current_context(files);
  if (name.empty()) return invalid("no current-context");
  const auto context = entry_of(files, "contexts", "context", name);
  if (!context) return context.error();
  const auto cluster = entry_of(files, "clusters", "cluster", text_at(context->body, "cluster"));
  if (!cluster) return cluster.error();
  const auto user = entry_of(files, "users", "user", text_at(context->body, "user"));
  if (!user) return user.error();

  ConnectionConfig config;
  config.ns = text_at(context->body, "namespace");
  if (config.ns.empty()) config.ns = "default";
  if (auto read = read_cluster(*cluster, config); !read) return read.error();
  if (auto read = read_user(*user, config); !read) return read.error();
  return config;
}

Result<ConnectionConfig> load_files(const std::vector<fs::path>& paths) {
  try {
    std::vector<KubeconfigFile> files;
    for (const auto& path : paths) {
      const auto text = read_file(path);
      if (!text) return invalid(text.error().message);
      files.push_back({path.parent_path(), YAML::Load(*text)});
      if (!files.back().root.IsMap()) return invalid(path.string() + " is not a kubeconfig");
    }
    return read_context(files);
  } catch (const YAML::Exception& e) {
    return invalid(e.what());
  }
}

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

Result<ConnectionConfig> load_kubeconfig(const std::string& path) { return load_files({path}); }

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
  auto ca = read_file(folder + "/ca.crt");
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

Result<ConnectionConfig> load_user_config(const std::string& path) {
  if (!path.empty()) return load_kubeconfig(path);
  const std::string list = environment("KUBECONFIG");
  if (list.empty()) return load_kubeconfig(environment("HOME") + "/.kube/config");
  const auto files = existing_files(list);
  if (files.empty()) return invalid(fmt::format("no file of KUBECONFIG={} exists", list));
  return load_files(files);
}

}  // namespace nervex::kube
