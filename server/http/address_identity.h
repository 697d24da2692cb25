// server/http/address_identity.h - which pod calls from this address without a token, and may it?
// Pure. For --auth=transition: pods that were created before pods got tokens.
#pragma once

#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"
#include "server/http/identity.h"

namespace nervex::server {

// The only live pod of `pods`, a PodList, that has this address: an identity without a user, so it
// may use its own job and nothing else. `address` is the TCP source, never a header's text.
//   kTransient     passes by itself, and 401 would end a client of 2021 for good: no live pod has
//                  the address, as its kubelet may not have reported it yet; several have it; or
//                  the pod is being deleted
//   kUnauthorized  the pod is in its node's network, is of no job, or has a token for this server,
//                  which it must send
Result<Identity> identify_by_address(std::string_view address, const Json& pods);

}  // namespace nervex::server
