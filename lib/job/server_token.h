// job/server_token.h - how does a pod prove its job to nervex-server? With a projected
// service-account token that has no other use (--server-auth=token).
#pragma once

#include "kube/model/json.h"

namespace nervex::job {

// The token's audience; nervex-server accepts no other.
inline constexpr const char* kServerTokenAudience = "nervex-server";
// The token's path in a container, and the variable that holds the path. The kubelet renews the
// file long before the token expires: read it again for each connection.
inline constexpr const char* kServerTokenFile =
    "/var/run/secrets/nervex.sensetime.com/server/token";
inline constexpr const char* kServerTokenVariable = "KUBERNETES_NERVEX_SERVER_TOKEN_FILE";

// Adds the volume to `pod_spec` and mounts it in every regular container. A template's own volume
// of that name is kept, because its author wants another token there. So is a mount at that path.
void add_server_token(Json& pod_spec);

}  // namespace nervex::job
