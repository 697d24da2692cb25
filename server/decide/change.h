// server/decide/change.h - what does one call request, change and answer? Values.
#pragma once

#include <string>
#include <vector>

#include "job/types.h"
#include "server/decide/listing.h"

namespace nervex::server {

inline constexpr int kMaxReplicasPerRequest = 1000;  // per role, unless a flag says otherwise

struct RoleRequest {  // for replicas of one role
  int replicas = 0;
  // Valid quantities above zero; empty: the template's.
  std::string cpus, gpus, memory;
  bool operator==(const RoleRequest&) const = default;
};

struct AddRequest {
  std::string ns;
  std::string coordinator;  // the pod that asks
  RoleRequest collectors;
  RoleRequest learners;
  bool operator==(const AddRequest&) const = default;
};

struct RemoveRequest {
  std::string ns;
  std::string coordinator;
  int collectors = 0;
  int learners = 0;
  bool operator==(const RemoveRequest&) const = default;
};

struct ReplaceRequest {
  std::string ns;
  std::string coordinator;
  // Pod names, or addresses "<pod>.<namespace>:<port>". Not empty.
  std::vector<std::string> collectors;
  std::vector<std::string> learners;
  bool operator==(const ReplaceRequest&) const = default;
};

struct Change {
  job::Requests requests;  // the whole new spec.requests
  Listing answer;          // addresses that are valid once it is written
  bool changes = false;    // false: nothing to write
};

}  // namespace nervex::server
