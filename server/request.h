// server/request.h - what does a caller ask for? Bodies and queries become values. Pure.
//
// Bodies are read as Go's encoding/json reads them, since that is what clients were written
// against: keys in any case, unknown keys ignored, null is absent. Unlike there, of two spellings
// of one key the exact one wins, not the last.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace nervex::server {

inline constexpr int kMaxReplicasPerRequest = 1000;  // per role, unless a flag says otherwise

struct Ask {  // for replicas of one role
  int replicas = 0;
  // Valid quantities above zero; empty: as the template has it.
  std::string cpus, gpus, memory;
  bool operator==(const Ask&) const = default;
};

// 0: as the template has it. kInvalid for what parse_add_request() would have refused.
Result<std::int64_t> gpus_of(const Ask& ask);

struct AddRequest {
  std::string ns;
  std::string coordinator;  // the pod that asks
  Ask collectors;
  Ask learners;
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
  // Pod names, or addresses "<pod>.<namespace>:<port>". None is empty.
  std::vector<std::string> collectors;
  std::vector<std::string> learners;
  bool operator==(const ReplaceRequest&) const = default;
};

// Each fails with kInvalid, naming the field, for everything that is wrong with `body`. At most
// `most` replicas of each role can be asked for or named; as many as one likes can be removed,
// since there is no more to remove than there is.
Result<AddRequest> parse_add_request(std::string_view body, int most = kMaxReplicasPerRequest);
Result<RemoveRequest> parse_remove_request(std::string_view body);
Result<ReplaceRequest> parse_replace_request(std::string_view body,
                                             int most = kMaxReplicasPerRequest);

// The Idempotency-Key among these headers; "" without one. kInvalid: one that cannot be kept.
Result<std::string> parse_key(const std::map<std::string, std::string>& headers);

// What a GET selects. Everything absent: all jobs.
struct ListQuery {
  std::optional<std::string> ns;
  // At most one of these; the first two only together with ns.
  std::optional<std::string> coordinator;
  std::optional<std::string> aggregator;
  std::optional<std::string> name;
  bool operator==(const ListQuery&) const = default;
};

// kInvalid for unknown keys, empty values and combinations without meaning. An empty namespace
// stands for all of them.
Result<ListQuery> parse_list_query(const std::multimap<std::string, std::string>& query);

}  // namespace nervex::server
