// base/tls/flags.h - which flags name the certificate to serve with?
#pragma once

#include <optional>

#include <CLI/App.hpp>

#include "base/tls/certificate_files.h"

namespace nervex {

// Adds --tls-cert-file, --tls-key-file and --client-ca-file. Where `files` names no certificate TLS
// is a choice: then certificate and key are given together, and authorities only with them.
void add_tls_flags(CLI::App& app, TlsFiles& files);

// What the flags ask for: nothing, if they name no certificate.
std::optional<TlsFiles> tls_of(const TlsFiles& files);

}  // namespace nervex
