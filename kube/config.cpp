#include "kube/config.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/read_file.h"
#include "kube/kubeconfig.h"

namespace nervex::kube {
namespace {

namespace fs = std::filesystem;

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

Result<ConnectionConfig> load_user_config(const std::string& path) {
  if (!path.empty()) return load_kubeconfig(path);
  const std::string list = environment("KUBECONFIG");
  if (list.empty()) return load_kubeconfig(environment("HOME") + "/.kube/config");
  const auto files = existing_files(list);
  if (files.empty())
    return Error{Code::kInvalid, fmt::format("kubeconfig: no file of KUBECONFIG={} exists", list)};
  return read_kubeconfigs(files);
}

}  // namespace nervex::kube
