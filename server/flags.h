// server/flags.h - which flags configure nervex-server?
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/program.h"
#include "base/tls/certificate_files.h"
#include "server/decide/grow.h"

namespace nervex::server {

enum class AuthMode { kNone, kTransition, kToken };

struct Flags {
  CommonFlags common;
  AuthMode auth = AuthMode::kNone;
  TlsFiles tls;  // none: plain HTTP
  std::string aggregator_config = "nervex-system/aggregator-config";
  std::size_t max_connections = 2048;           // one thread each
  std::size_t max_connections_per_address = 0;  // 0: a quarter of them
  Limits limits;
};

// nullopt: continue with `flags`; else the exit code.
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::server
