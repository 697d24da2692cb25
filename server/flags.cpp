#include "server/flags.h"

namespace nervex::server {

void add_flags(CLI::App& app, Flags& flags) {
  add_common_flags(app, flags.common, "0.0.0.0:8080", "where coordinators reach the replicas API");
  app.add_option("--max-connections", flags.max_connections,
                 "connections served at once, each with a thread of its own")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
}

}  // namespace nervex::server
