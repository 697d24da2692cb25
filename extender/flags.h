// extender/flags.h - which flags has the extender?
#pragma once

#include "base/program.h"
#include "base/tls/certificate_files.h"
#include "kube/leader/flags.h"

namespace nervex::extender {

struct Flags {
  CommonFlags common;
  kube::LeaderFlags leader;
  TlsFiles tls;  // none: plain HTTP, on loopback only
};

// nullopt: go on with `flags`; else the exit code. Who can call bind can bind pods: an address
// beyond loopback is refused without a certificate and an authority for callers.
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::extender
