// base/tls/flags.h - which flags name the server's certificate?
#pragma once

#include <optional>

#include <CLI/App.hpp>

#include "base/tls/certificate_files.h"

namespace nervex {

// Adds --tls-cert-file, --tls-key-file and --client-ca-file. If `files` has no default certificate,
// TLS is optional: then certificate and key must be given together, and authorities only with them.
void add_tls_flags(CLI::App& app, TlsFiles& files);

// The files from the flags; nullopt if they name no certificate.
std::optional<TlsFiles> optional_tls_files(const TlsFiles& files);

}  // namespace nervex
