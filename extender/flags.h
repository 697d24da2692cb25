// extender/flags.h - how is the extender told what to do?
#pragma once

#include "base/program.h"
#include "kube/leader_flags.h"

namespace nervex::extender {

struct Flags {
  CommonFlags common;
  kube::LeaderFlags leader;
};

// nullopt: go on with `flags`; else the exit code.
std::optional<int> parse(int argc, char** argv, Flags& flags);

}  // namespace nervex::extender
