#include "cli/suite_namespace.h"

#include "certs/cluster.h"

namespace nervex::cli {
namespace {

constexpr kube::ResourceKind kMutatingConfigurations{"admissionregistration.k8s.io", "v1",
                                                     "mutatingwebhookconfigurations"};

}  // namespace

void add_suite_namespace_flag(CLI::App& command, std::string& ns) {
  command
      .add_option(
          "--system-namespace", ns,
          "namespace of the suite's programs (default: that of the webhook, if you may read "
          "its configuration, else nervex-system)")
      ->type_name("NAME")
      ->envname("NERVEX_SYSTEM_NAMESPACE");
}

std::string suite_namespace(const Result<Json>& webhook_configuration) {
  if (webhook_configuration) {
    for (const auto& hook : kube::array_at(*webhook_configuration, {"webhooks"})) {
      std::string ns = kube::string_at(hook, {"clientConfig", "service", "namespace"});
      if (!ns.empty()) return ns;
    }
  }
  return certs::Places().ns;
}

std::string find_suite_namespace(kube::Api& api, const std::string& given) {
  if (!given.empty()) return given;
  return suite_namespace(
      kube::get_object(api, kMutatingConfigurations, "", certs::Places().mutating));
}

}  // namespace nervex::cli
