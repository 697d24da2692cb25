#include "controller/decide/round/pod_context.h"

namespace nervex::controller {

using job::ServiceMode;

bool is_service_name_taken(const Observed& seen) {
  return seen.shared_service != nullptr && !is_shared_service(*seen.shared_service);
}

ServiceMode service_mode(const Observed& seen, const Attempt& attempt) {
  const bool is_shared = attempt.group == nullptr
                             ? seen.shared_services
                             : seen.job.status.services == ServiceMode::kShared;
  return is_shared && !is_service_name_taken(seen) ? ServiceMode::kShared : ServiceMode::kPerPod;
}

job::PodContext pod_context(const Observed& seen, const Attempt& attempt) {
  return {.server_url = seen.server_url,
          .server_token = seen.server_token,
          .has_aggregator = attempt.has_aggregator,
          .aggregator_template =
              seen.aggregator_config ? seen.aggregator_config->pod_template : kube::SharedJson()};
}

job::PodContext pod_context(const Round& round) {
  job::PodContext context = pod_context(round.seen, round.attempt);
  context.shared_names = round.job.status.services == ServiceMode::kShared;
  return context;
}

}  // namespace nervex::controller
