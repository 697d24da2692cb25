#include "extender/flags.h"

namespace nervex::extender {

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app("Plans gangs of pods, and tells kube-scheduler where each of them goes.",
               "nervex-extender");
  // Loopback: the scheduler stands beside it, and who can call bind can bind pods.
  add_common_flags(app, flags.common, "127.0.0.1:9080",
                   "HOST:PORT that kube-scheduler calls; keep it on loopback");
  kube::add_leader_flags(app, flags.leader, "nervex-extender");
  add_help_footer(app, "nervex-extender --listen 127.0.0.1:9080 --metrics-listen 0.0.0.0:8082");
  return parse_flags(app, argc, argv, flags.common);
}

}  // namespace nervex::extender
