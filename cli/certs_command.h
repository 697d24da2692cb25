// cli/certs_command.h - `nervexctl certs`: its flags, and what it prints.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "certs/cluster.h"

namespace nervex::cli {

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

}  // namespace nervex::cli
