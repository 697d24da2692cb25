#include "base/tls/flags.h"

#include <CLI/CLI.hpp>

namespace nervex {

namespace {

CLI::Option* add_file(CLI::App& app, const std::string& flag, std::string& file,
                      const std::string& help) {
  CLI::Option* option = app.add_option(flag, file, help)->type_name("FILE");
  return file.empty() ? option : option->capture_default_str();
}

}  // namespace

void add_tls_flags(CLI::App& app, TlsFiles& files) {
  const bool is_choice = files.cert_file.empty();
  CLI::Option* cert = add_file(app, "--tls-cert-file", files.cert_file,
                               "serve TLS with this certificate (PEM: the leaf, then its chain)");
  CLI::Option* key =
      add_file(app, "--tls-key-file", files.key_file, "private key of the certificate (PEM)");
  CLI::Option* client_ca = add_file(
      app, "--client-ca-file", files.client_ca_file,
      "certificate authorities (PEM); callers must present a certificate that one of them issued");
  if (!is_choice) return;
  cert->needs(key);
  key->needs(cert);
  client_ca->needs(cert);
}

std::optional<TlsFiles> optional_tls_files(const TlsFiles& files) {
  if (files.cert_file.empty()) return std::nullopt;
  return files;
}

}  // namespace nervex
