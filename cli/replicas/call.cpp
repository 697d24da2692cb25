#include "cli/replicas/call.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/text.h"
#include "kube/api.h"

namespace nervex::cli {
namespace {

constexpr const char* kPath = "/v1alpha1/replicas";

Error wrong(std::string what) { return {Code::kInvalid, std::move(what)}; }

// The pod on whose behalf the call is made: any pod of the job, usually its coordinator.
Result<std::string> resolve_coordinator(const ReplicasAsk& ask) {
  if (!ask.coordinator.empty() && !ask.job.empty()) {
    return wrong("give either the job or --coordinator");
  }
  return ask.coordinator.empty() && !ask.job.empty() ? ask.job + "-coordinator" : ask.coordinator;
}

Result<ReplicasCall> get_call(const ReplicasAsk& ask, const std::string& coordinator) {
  const std::map<std::string, std::string> keys = {{"namespace", ask.ns},
                                                   {"coordinator", coordinator},
                                                   {"aggregator", ask.aggregator},
                                                   {"name", ask.name}};
  const int selectors = !coordinator.empty() + !ask.aggregator.empty() + !ask.name.empty();
  if (selectors > 1) {
    return wrong("only one of job, --coordinator, --aggregator and --name may be given");
  }
  if ((!coordinator.empty() || !ask.aggregator.empty()) && ask.ns.empty()) {
    return wrong("a job, --coordinator or --aggregator needs --namespace");
  }
  ReplicasCall call{"GET", kPath, ""};
  char separator = '?';
  for (const auto& [key, value] : keys) {
    if (value.empty()) continue;
    call.path += fmt::format("{}{}={}", separator, key, kube::percent_encode(value));
    separator = '&';
  }
  return call;
}

Json make_replica_group(int replicas, const ReplicasAsk& ask) {
  Json group = {{"replicas", replicas}};
  if (!ask.cpus.empty()) group["cpus"] = ask.cpus;
  if (!ask.gpus.empty()) group["gpus"] = ask.gpus;
  if (!ask.memory.empty()) group["memory"] = ask.memory;
  return group;
}

// True for "dqn-collector-x2b7k.rl:80", and for the name alone.
bool is_collector(std::string_view pod) {
  const std::string_view name = pod.substr(0, pod.find('.'));
  const auto suffix = name.rfind('-');
  return suffix != std::string_view::npos && name.substr(0, suffix).ends_with("-collector");
}

Json names_body(const ReplicasAsk& ask) {
  Json groups = {{"collectors", Json::array()}, {"learners", Json::array()}};
  for (const auto& pod : ask.pods) {
    groups[is_collector(pod) ? "collectors" : "learners"].push_back(pod);
  }
  return groups;
}

Json counts_body(const ReplicasAsk& ask) {
  Json groups = Json::object();
  if (ask.collectors > 0) groups["collectors"] = make_replica_group(ask.collectors, ask);
  if (ask.learners > 0) groups["learners"] = make_replica_group(ask.learners, ask);
  return groups;
}

void add_rows(Rows& rows, const Json& job) {
  const std::string ns = printable(kube::string_at(job, {"namespace"}));
  const std::string coordinator = printable(kube::string_at(job, {"coordinator"}));
  const std::size_t before = rows.size();
  for (const auto& [key, role] : {std::pair{"collectors", "collector"}, {"learners", "learner"}}) {
    for (const auto& url : kube::array_at(job, {key})) {
      if (!url.is_string()) continue;
      rows.push_back({ns, coordinator, role, printable(url.get<std::string>())});
    }
  }
  if (rows.size() == before) rows.push_back({ns, coordinator, "none", "-"});
}

}  // namespace

Result<ReplicasCall> call_for(const ReplicasAsk& typed) {
  ReplicasAsk ask = typed;
  if (ask.verb == ReplicasVerb::kReplace && !ask.coordinator.empty() && !ask.job.empty()) {
    ask.pods.insert(ask.pods.begin(), std::exchange(ask.job, ""));
  }
  const auto coordinator = resolve_coordinator(ask);
  if (!coordinator) return coordinator.error();
  if (ask.verb == ReplicasVerb::kGet) return get_call(ask, *coordinator);

  if (coordinator->empty()) return wrong("name the job, or give --coordinator");
  if (ask.ns.empty()) return wrong("give --namespace");
  const bool by_name = ask.verb == ReplicasVerb::kReplace;
  Json body = by_name ? names_body(ask) : counts_body(ask);
  if (by_name && ask.pods.empty()) return wrong("name at least one replica");
  if (ask.collectors < 0 || ask.learners < 0) {
    return wrong("--collectors and --learners must not be negative");
  }
  if (body.empty()) return wrong("give --collectors or --learners, above zero");
  body["namespace"] = ask.ns;
  body["coordinator"] = *coordinator;
  return ReplicasCall{ask.verb == ReplicasVerb::kRemove ? "DELETE" : "POST",
                      by_name ? std::string(kPath) + "/failed" : kPath, kube::to_text(body)};
}

Result<Json> parse_reply_data(int status, std::string_view body) {
  if (status >= 300 && status < 400) {
    return Error{Code::kInvalid,
                 fmt::format("{}: the server redirects; redirects are not followed", status)};
  }
  const auto json = kube::parse_json(body);
  if (!json || !json->is_object() || !json->contains("success")) {
    return Error{
        Code::kInvalid,
        fmt::format(
            "{} from a server that is not nervex-server: does another program listen there?",
            status)};
  }
  if (status == 200 && kube::bool_at(*json, {"success"})) return json->value("data", Json());
  const std::string message = kube::string_at(*json, {"message"}, "no reason was given");
  if (status == 200) return Error{Code::kTransient, message};
  return Error{Code::kConflict, fmt::format("{} {}", status, message)};
}

std::string replicas_table(const Json& data) {
  Rows rows = {{"NAMESPACE", "COORDINATOR", "ROLE", "ADDRESS"}};
  if (data.is_array()) {
    for (const auto& job : data) add_rows(rows, job);
  } else {
    add_rows(rows, data);
  }
  return table(rows, "");
}

}  // namespace nervex::cli
