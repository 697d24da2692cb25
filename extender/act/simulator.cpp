#include "extender/act/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "extender/simulation/question.h"
#include "job/aggregator_config.h"
#include "job/names.h"
#include "job/priority.h"

namespace nervex::extender {
namespace {

constexpr std::size_t kMostInNamespace = 20;

Result<std::optional<job::AggregatorConfig>> read_aggregator_config(kube::Api& api,
                                                                    const std::string& name) {
  const std::size_t slash = name.find('/');
  const auto live = kube::get_object(api, kube::kAggregatorConfigs, name.substr(0, slash),
                                     name.substr(slash + 1));
  if (!live && live.error().code == Code::kNotFound) return std::optional<job::AggregatorConfig>();
  if (!live) return live.error();
  auto config = job::parse_aggregator_config(kube::to_text(*live));
  if (!config) return config.error();
  return std::optional(*std::move(config));
}

Result<job::PriorityClasses> read_priority_classes(kube::Api& api) {
  const auto list = kube::get_object(api, kube::kPriorityClasses, "", "");
  if (!list) return list.error();
  job::PriorityClasses classes;
  for (const Json& item : kube::array_at(*list, {"items"})) {
    auto one = job::decode_priority_class(kube::to_text(item));
    if (one) classes.push_back(std::make_shared<const job::PriorityClass>(*std::move(one)));
  }
  return classes;
}

}  // namespace

void Simulator::run(const std::stop_token& stop) {
  const std::stop_callback shut_down(stop, [this] { queue_.shut_down(); });
  for (const auto& simulation : simulations_.all()) queue_.add(simulation->meta.key());
  while (const auto key = queue_.next()) {
    try {
      const auto done = process(*key);
      if (done) {
        queue_.forget(*key);
      } else {
        log_warn("simulation not answered",
                 {{"simulation", *key}, {"error", done.error().message}});
        queue_.add_failed(*key);
      }
    } catch (const std::exception& error) {  // a bug: log it and retry
      log_error("simulation failed", {{"simulation", *key}, {"error", error.what()}});
      queue_.add_failed(*key);
    }
    queue_.done(*key);
  }
}

Result<Nothing> Simulator::process(const std::string& key) {
  const auto simulation = simulations_.get(key);
  if (!simulation || simulation->meta.deleting) return ok();
  if (simulation->completed) {
    const auto left =
        *simulation->completed + std::chrono::seconds(simulation->ttl_seconds) - clock_.now();
    if (left <= left.zero()) return remove(*simulation);
    queue_.add_after(key, std::chrono::ceil<std::chrono::milliseconds>(left));
    remove_surplus(simulation->meta.ns);
    return ok();
  }
  auto answered = answer(*simulation);
  if (!answered) return answered.error();
  const kube::Meta& meta = simulation->meta;
  const Json patch = {{"metadata", {{"uid", meta.uid}}},
                      {"status", encode_answer(*answered, clock_.now())}};
  const auto written =
      kube::merge_patch(api_, kube::kSimulations, meta.ns, meta.name, patch, "status");
  if (written || written.error().code == Code::kNotFound) return ok();
  return with_context("write status of simulation " + key, written.error());
}

Result<Answer> Simulator::answer(const Simulation& simulation) {
  auto question = make_question(simulation);
  if (!question && question.error().code == Code::kInvalid) {
    return refuse(question.error().message);
  }
  if (!question) return question.error();
  if (question->group && question->group->spec.gangs.empty()) {
    Answer answer;
    answer.verdict = Verdict::kStarts;
    answer.message = "the job has reserved the capacity for them";
    return answer;
  }
  return simulate(cache_.snapshot_for(simulation.meta.ns.str()), *question, clock_.now(), healing_);
}

Result<gang::PodGroup> Simulator::find_job(const Simulation& simulation) const {
  std::shared_ptr<const gang::PodGroup> found;
  for (const auto& group : groups_.all()) {
    if (group->meta.ns != simulation.meta.ns || group->meta.deleting) continue;
    if (kube::label(group->meta, job::kJobLabel) != simulation.growth->job) continue;
    if (!found || found->spec.attempt < group->spec.attempt) found = group;
  }
  if (found) return *found;
  return Error{
      Code::kInvalid,
      fmt::format("job {} neither waits nor runs in namespace {}, or has not been seen yet",
                  simulation.growth->job, simulation.meta.ns)};
}

Result<WhatIf> Simulator::make_question(const Simulation& simulation) {
  WhatIf question;
  question.ns = simulation.meta.ns.str();
  question.added = simulation.added;
  question.removed = simulation.removed;
  if (simulation.growth) {
    const auto of_job = find_job(simulation);
    if (!of_job) return of_job.error();
    auto group = make_growth(*simulation.growth, *of_job);
    if (!group) return group.error();
    question.group = *std::move(group);
    question.asks_for_most = !question.group->spec.gangs.empty();
  } else if (!simulation.job.is_null()) {
    const auto config = read_aggregator_config(api_, aggregator_config_);
    if (!config) return with_context("read the AggregatorConfig", config.error());
    const auto classes = read_priority_classes(api_);
    if (!classes) return with_context("list PriorityClasses", classes.error());
    auto group = make_group(simulation, {*config ? &**config : nullptr, *classes}, clock_.now());
    if (!group) return group.error();
    question.group = *std::move(group);
    question.asks_for_most = true;
  }
  return question;
}

Result<Nothing> Simulator::remove(const Simulation& simulation) {
  const kube::Meta& meta = simulation.meta;
  const auto deleted = kube::delete_object(api_, kube::kSimulations, meta.ns, meta.name, meta.uid);
  const bool is_gone =
      deleted || deleted.error().code == Code::kNotFound || deleted.error().code == Code::kConflict;
  if (!is_gone) return with_context("delete simulation " + meta.key(), deleted.error());
  return ok();
}

void Simulator::remove_surplus(const std::string& ns) {
  std::vector<std::shared_ptr<const Simulation>> answered;
  for (const auto& one : simulations_.all()) {
    if (one->meta.ns.str() == ns && one->completed && !one->meta.deleting) answered.push_back(one);
  }
  if (answered.size() <= kMostInNamespace) return;
  std::sort(answered.begin(), answered.end(), [](const auto& a, const auto& b) {
    return std::pair(a->completed, a->meta.name) < std::pair(b->completed, b->meta.name);
  });
  answered.resize(answered.size() - kMostInNamespace);
  for (const auto& one : answered) {
    if (const auto removed = remove(*one); !removed) {
      log_warn("simulation not deleted",
               {{"simulation", one->meta.key()}, {"error", removed.error().message}});
    }
  }
}

}  // namespace nervex::extender
