// Network names and addresses of the pod: DNS, aliases, hostname.
#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearches = 32;
constexpr std::size_t kMaxSearchBytes = 2048;

void check_config(const Place& config) {
  const Place servers = config.at("nameservers");
  if (servers.size() > kMaxNameservers) {
    servers.invalid(fmt::format("must not have more than {} nameservers", kMaxNameservers));
  }
  servers.each_item([](const Place& server) {
    if (server.value().is_string()) server.must_be(ip_problem(server.text()));
  });
  const Place searches = config.at("searches");
  if (searches.size() > kMaxSearches) {
    searches.invalid(fmt::format("must not have more than {} search paths", kMaxSearches));
  }
  std::size_t bytes = searches.size() > 0 ? searches.size() - 1 : 0;
  searches.each_item([&](const Place& search) {
    bytes += search.text().size();
    if (search.value().is_string()) search.must_be(dns_search_problem(search.text()));
  });
  if (bytes > kMaxSearchBytes) {
    searches.invalid(
        fmt::format("must not have more than {} characters (including spaces) in the search list",
                    kMaxSearchBytes));
  }
  const Place options = config.at("options");
  options.each_item([](const Place& option) {
    if (option.is_object() && kube::string_at(option.value(), {"name"}).empty()) {
      option.required("must not be empty");
    }
  });
}

}  // namespace

void check_dns(const Place& spec, const Facts&) {
  const Place policy = spec.at("dnsPolicy");
  policy.one_of({"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  const Place config = spec.at("dnsConfig");
  const Place servers = config.at("nameservers");
  if (policy.text() == "None" && !config.is_there()) {
    return config.required("must provide `dnsConfig` when `dnsPolicy` is None");
  }
  if (policy.text() == "None" && config.is_object() && servers.size() == 0) {
    return servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
  check_config(config);
}

void check_host_aliases(const Place& spec, const Facts&) {
  const Place aliases = spec.at("hostAliases");
  aliases.each_item([](const Place& alias) {
    if (!alias.is_object()) return;
    const Place ip = alias.at("ip");
    if (ip.value().is_string() || !ip.is_there()) {
      if (const auto why = ip_problem(ip.text()); !why.empty()) ip.invalid(ip.text(), why);
    }
    const Place names = alias.at("hostnames");
    names.each_item([](const Place& name) {
      if (name.value().is_string()) name.must_be(dns_subdomain_problem(name.text()));
    });
  });
}

void check_hostname(const Place& spec, const Facts& facts) {
  for (const auto field : {"hostname", "subdomain"}) {
    const Place name = spec.at(field);
    if (!name.text().empty()) name.must_be(dns_label_problem(name.text()));
  }
  const Place replacement = spec.at("hostnameOverride");
  if (!replacement.is_there()) return;
  if (spec.at("setHostnameAsFQDN").is_true()) {
    replacement.forbidden("may not be specified when setHostnameAsFQDN is true");
  }
  if (facts.host_network) {
    replacement.forbidden("may not be specified when hostNetwork is true");
  }
  if (replacement.text().size() > 64) return replacement.too_long(64);
  if (replacement.value().is_string()) {
    replacement.must_be(dns_subdomain_problem(replacement.text()));
  }
}

}  // namespace nervex::job::pod_template
