// webhook/flags.h - how is nervex-webhook started?
#pragma once

#include <CLI/App.hpp>

#include "base/http/server.h"
#include "base/program.h"
#include "base/tls/flags.h"

namespace nervex::webhook {

struct Flags {
  CommonFlags common;
  TlsFiles tls{"/etc/nervex/tls/tls.crt", "/etc/nervex/tls/tls.key"};
  std::string server_user = "system:serviceaccount:nervex-system:nervex-server";
};

inline void add_flags(CLI::App& app, Flags& flags) {
  add_common_flags(app, flags.common, "0.0.0.0:9443", "address that the API server calls (TLS)");
  add_tls_flags(app, flags.tls);
  app.add_option("--server-user", flags.server_user,
                 "user name of nervex-server, the only one that may write spec.requests")
      ->envname("NERVEX_SERVER_USER")
      ->type_name("NAME")
      ->capture_default_str();
  add_help_footer(app, "nervex-webhook --tls-cert-file tls.crt --tls-key-file tls.key");
}

}  // namespace nervex::webhook
