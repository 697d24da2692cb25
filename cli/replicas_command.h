// cli/replicas_command.h - `nervexctl replicas`: its flags, its call, and what it prints.
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "cli/replicas_call.h"

namespace nervex::cli {

struct ReplicasFlags {
  ReplicasAsk ask;
  std::string server;  // a URL, or HOST:PORT
  std::string token_file;
  std::string ca_file;
  std::string tls_server_name;
  std::string idempotency_key;
  bool as_json = false;
};

CLI::App* add_replicas_command(CLI::App& app, ReplicasFlags& flags);

// Makes the call once and prints the answer. Returns the exit code: 1 with the server's message on
// stderr if it did not do what was asked.
int run_replicas(const ReplicasFlags& flags);

}  // namespace nervex::cli
