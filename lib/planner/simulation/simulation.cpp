#include "planner/simulation/simulation.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace nervex::planner {
namespace {

constexpr std::size_t kMostReason = 256;
constexpr std::size_t kMostText = 8'192;
// Of one status; a gang of thousands of pods would exceed the size of an object otherwise.
constexpr std::size_t kMostNodes = 200;
constexpr std::size_t kMostStarted = 100;

}  // namespace

Result<Simulation> parse_simulation(std::string_view json) {
  const auto object = kube::parse_json(json, kube::kMaxJsonDepth, {"job", 1});
  if (!object) return with_context("simulation", object.error());
  Simulation simulation;
  simulation.meta = kube::decode_meta(*object);
  simulation.meta.labels.clear();
  simulation.meta.annotations.clear();
  simulation.ttl_seconds =
      static_cast<int>(kube::int_at(*object, {"spec", "ttlSeconds"}, kDefaultTtlSeconds));
  const auto completed = parse_rfc3339(kube::string_at(*object, {"status", "completionTime"}));
  if (completed) simulation.completed = *completed;
  return simulation;
}

Result<Question> parse_question(std::string_view json) {
  if (kube::count_json_at_most(json).values > kMostQuestionValues &&
      kube::count_json(json).values > kMostQuestionValues) {
    return Error{Code::kInvalid,
                 fmt::format("the Simulation has more than {} values, such as variables or "
                             "arguments",
                             kMostQuestionValues)};
  }
  auto object = kube::parse_json(json);
  if (!object) return with_context("simulation", object.error());
  Question question;
  question.ns = kube::string_at(*object, {"metadata", "namespace"});
  question.name = kube::string_at(*object, {"metadata", "name"});
  if (const Json* grow = kube::find(*object, {"spec", "grow"})) {
    Growth growth;
    growth.job = kube::string_at(*grow, {"job"});
    const std::string role = kube::string_at(*grow, {"role"}, "collector");
    growth.role = role == "learner" ? job::Role::kLearner : job::Role::kCollector;
    growth.replicas = static_cast<int>(kube::int_at(*grow, {"replicas"}));
    question.growth = std::move(growth);
  }
  for (const Json& added : kube::array_at(*object, {"spec", "nodes", "add"})) {
    question.added.push_back(
        {kube::string_at(added, {"like"}), static_cast<int>(kube::int_at(added, {"count"}))});
  }
  for (const Json& removed : kube::array_at(*object, {"spec", "nodes", "remove"})) {
    if (removed.is_string()) question.removed.push_back(removed);
  }
  if (kube::find(*object, {"spec", "job"}) != nullptr) {
    question.job = std::move((*object)["spec"]["job"]);
  }
  return question;
}

Json encode_answer(const Answer& answer, SysTime completed) {
  Json status = {{"completionTime", to_rfc3339(completed)},
                 {"verdict", to_string(answer.verdict)},
                 {"message", cut_text(answer.message, kMostText)}};
  if (!answer.reason.empty()) status["reason"] = cut_text(answer.reason, kMostReason);
  if (answer.cause) {
    Json cause = gang::encode_no_fit(*answer.cause);
    if (cause.contains("text")) cause["text"] = cut_text(answer.message, kMostText);
    status["cause"] = std::move(cause);
    status["remedy"] = gang::code(gang::choose_remedy(*answer.cause));
  }
  if (!answer.queue.name.empty()) status["queue"]["name"] = answer.queue.name;
  if (answer.queue.position > 0) status["queue"]["position"] = answer.queue.position;
  Json nodes = Json::array();
  for (const NodeUse& use : answer.nodes) {
    if (nodes.size() == kMostNodes) break;
    nodes.push_back({{"name", use.node}, {"pods", use.pods}});
  }
  if (!nodes.empty()) {
    status["nodeCount"] = answer.nodes.size();
    status["nodes"] = std::move(nodes);
  }
  if (!answer.victims.empty()) {
    Json groups = Json::array();
    for (const gang::Victim& victim : answer.victims) {
      if (victim.pod_group.empty() || groups.size() == kMostStarted) continue;
      groups.push_back({{"podGroup", victim.pod_group}, {"gang", victim.gang}});
    }
    status["preempts"] = {{"count", answer.victims.size()}, {"gangs", std::move(groups)}};
  }
  if (answer.verdict == SimulationVerdict::kStarts) {
    status["start"]["earliest"] = status["start"]["latest"] = to_rfc3339(completed);
  } else if (answer.latest_start) {
    status["start"]["latest"] = to_rfc3339(*answer.latest_start);
  }
  if (answer.most) {
    status["most"] = {{"role", answer.most->role}, {"count", answer.most->count}};
    if (answer.most->is_at_least) status["most"]["isAtLeast"] = true;
  }
  Json started = Json::array();
  for (const std::string& job : answer.started) {
    if (started.size() == kMostStarted) break;
    started.push_back(job);
  }
  const int all = static_cast<int>(answer.started.size()) + answer.started_elsewhere;
  if (all > 0) status["starts"] = {{"count", all}, {"jobs", std::move(started)}};
  return status;
}

}  // namespace nervex::planner
