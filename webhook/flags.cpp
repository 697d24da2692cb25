#include "webhook/flags.h"

#include <CLI/CLI.hpp>

#include "base/tls/flags.h"

namespace nervex::webhook {

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app("Validates NerveXJobs at admission and fills in their defaults.", "nervex-webhook");
  add_common_flags(app, flags.common, "0.0.0.0:9443", "address that the API server calls (TLS)");
  add_tls_flags(app, flags.tls);
  app.add_option("--server-user", flags.server_user,
                 "user name of nervex-server, the only one that may write spec.requests")
      ->envname("NERVEX_SERVER_USER")
      ->type_name("NAME")
      ->capture_default_str();
  add_help_footer(app, "nervex-webhook --tls-cert-file tls.crt --tls-key-file tls.key");
  return parse_flags(app, argc, argv, flags.common);
}

}  // namespace nervex::webhook
