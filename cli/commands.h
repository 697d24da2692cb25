// cli/commands.h - which flags do the subcommands of nervexctl have, and what do they do?
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "base/error.h"
#include "base/program.h"
#include "certs/cluster.h"
#include "cli/replicas_call.h"
#include "cli/text.h"
#include "cli/verdict.h"

namespace nervex::cli {

// ---- nervexctl certs

struct CertsFlags {
  bool install = false;     // into the cluster
  std::string out;          // into this folder
  bool in_cluster = false;  // with the pod's ServiceAccount
  std::string kubeconfig;
  std::string service = "nervex-webhook-service";
  std::vector<std::string> more_names;  // "DNS:..." or "IP:..."
  certs::Places places;
  certs::Terms terms;
  bool dry_run = false;
};

CLI::App* add_certs_command(CLI::App& app, CertsFlags& flags);

// Prints what was done, or both Secrets if neither --install nor --out is given. Returns the exit
// code.
int run_certs(CertsFlags flags);

// ---- nervexctl replicas

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

// Makes the call once and prints the answer. Returns the exit code: 1, with the server's message on
// stderr, if the server did not do it.
int run_replicas(const ReplicasFlags& flags);

// ---- nervexctl validate

struct ValidateFlags {
  std::vector<std::string> files;       // files, folders, "-"
  std::vector<std::string> more_files;  // named without -f
  Format format = Format::kText;
  bool server = false;
  std::string ns;
  std::string kubeconfig;
};

CLI::App* add_validate_command(CLI::App& app, ValidateFlags& flags);

// Prints the verdicts. Returns the exit code: 1 if a job is wrong, 2 if there is no verdict.
int run_validate(const ValidateFlags& flags);

// ---- all commands

// Writes "nervexctl: WHAT: ERROR" to stderr. Returns the exit code.
inline int fail(const std::string& what, const Error& error) {
  std::fprintf(stderr, "nervexctl: %s: %s\n", what.c_str(), printable(error.message).c_str());
  return kExitFailure;
}

}  // namespace nervex::cli
