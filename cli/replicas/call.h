// cli/replicas/call.h - which HTTP call does `nervexctl replicas ...` make, and what does its
// answer mean? Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::cli {

enum class ReplicasVerb { kGet, kAdd, kRemove, kReplace };

struct ReplicasAsk {  // as typed; empty: not given
  ReplicasVerb verb = ReplicasVerb::kGet;
  std::string ns;
  std::string job;
  std::string coordinator;  // any pod of the job, instead of `job`
  std::string aggregator;   // kGet: its GPUs
  std::string name;         // kGet: one replica
  int collectors = 0;
  int learners = 0;
  std::string cpus, gpus, memory;  // kAdd: of each replica
  // kReplace: names or addresses. With `coordinator` the first word is a pod, too, not a job.
  std::vector<std::string> pods;
};

struct ReplicasCall {
  std::string method;
  std::string path;  // with the query
  std::string body;  // JSON, or empty
  bool operator==(const ReplicasCall&) const = default;
};

// The one call for it. kInvalid: wrong arguments; the message is for people.
Result<ReplicasCall> call_for(const ReplicasAsk& ask);

// The answer's data, or an Error with the server's own message: kTransient if the call may be
// repeated (200 with success:false), kInvalid for a reply that is not from this API.
Result<Json> parse_reply_data(int status, std::string_view body);

// One line per replica: namespace, coordinator, role, address. `data` is one job or an array of
// jobs.
std::string replicas_table(const Json& data);

}  // namespace nervex::cli
