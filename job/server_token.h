// job/server_token.h - how does a pod prove to nervex-server which job it belongs to? With a
// projected service-account token that is good for nothing else (--server-auth=token).
#pragma once

#include "kube/model/json.h"

namespace nervex::job {

// The audience the token is made for; nervex-server accepts no other.
inline constexpr const char* kServerTokenAudience = "nervex-server";
// Where a container finds it, and the variable that says so. The kubelet renews the file's content
// long before the token ends: read it again for each connection.
inline constexpr const char* kServerTokenFile =
    "/var/run/secrets/nervex.sensetime.com/server/token";
inline constexpr const char* kServerTokenVariable = "KUBERNETES_NERVEX_SERVER_TOKEN_FILE";

// Adds the volume to `pod_spec` and mounts it in every regular container. A volume of that name
// that the template brings is left alone: its author wants another token there. So is a mount at
// that path.
void add_server_token(Json& pod_spec);

}  // namespace nervex::job
