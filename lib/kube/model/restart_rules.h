// kube/model/restart_rules.h - does the kubelet start a terminated container again? Private to
// kube/model.
#pragma once

#include <string>
#include <vector>

#include "kube/model/scan.h"

namespace nervex::kube {

// An entry of restartPolicyRules (Kubernetes 1.35, KEP-5307 and KEP-5532). The kubelet obeys the
// first one that matches.
struct RestartRule {
  bool restarts_all = false;  // RestartAllContainers: all containers of the pod
  bool excludes = false;      // NotIn: matches all other exit codes
  std::vector<int> exit_codes;

  bool matches(int exit_code) const;
};
std::vector<RestartRule> scan_restart_rules(Value value);

// Null: no rule matches, so the policy decides.
const RestartRule* find_restart_rule(const std::vector<RestartRule>& rules, int exit_code);
// `policy`: the container's own, else the pod's.
bool restarts_by_policy(const std::string& policy, int exit_code);

}  // namespace nervex::kube
