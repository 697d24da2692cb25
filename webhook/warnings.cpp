#include "webhook/warnings.h"

#include <fmt/format.h>

namespace nervex::webhook {

std::vector<std::string> warnings_for(const Json& object) {
  std::vector<std::string> warnings;
  const std::string policy = kube::string_at(
      object, {"spec", "coordinator", "template", "spec", "restartPolicy"}, "Never");
  if (!policy.empty() && policy != "Never") {
    // A container restarted in place would ask for a second full set of replicas.
    warnings.push_back(fmt::format(
        "spec.coordinator.template.spec.restartPolicy {}: a restarted coordinator starts the whole "
        "job anew",
        policy));
  }
  return warnings;
}

}  // namespace nervex::webhook
