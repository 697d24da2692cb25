#include "extender/act/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "job/aggregator_config.h"
#include "job/names.h"
#include "job/priority.h"
#include "planner/simulation/question.h"

namespace nervex::extender {
namespace {

constexpr std::size_t kMostInNamespace = 20;
constexpr int kMostNodes = 1'000;  // that are added

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
  is_running_ = true;
  for (const auto& simulation : simulations_.all()) queue_.add(simulation->meta.key());
  while (const auto key = queue_.next()) {
    if (const auto done = process(*key)) {
      queue_.forget(*key);
    } else {
      log_warn("simulation not answered", {{"simulation", *key}, {"error", done.error().message}});
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
  if (is_one_too_many(*simulation)) {
    return write(*simulation,
                 planner::refuse(fmt::format("{} other Simulations of the namespace wait for "
                                             "an answer: ask again",
                                             kMostInNamespace)));
  }
  auto answered = answer(*simulation);
  if (!answered && answered.error().code == Code::kNotFound) return ok();  // it was deleted
  if (!answered) return answered.error();
  const auto written = write(*simulation, *answered);
  const bool is_refused = !written && written.error().code == Code::kInvalid;
  return is_refused ? write(*simulation, planner::refuse("the answer cannot be stored")) : written;
}

// Of two writers the first wins: the answer belongs to its completionTime.
Result<Nothing> Simulator::write(const planner::Simulation& simulation,
                                 const planner::Answer& answer) {
  const kube::Meta& meta = simulation.meta;
  const Json patch = {{"metadata", {{"uid", meta.uid}, {"resourceVersion", meta.resource_version}}},
                      {"status", planner::encode_answer(answer, clock_.now())}};
  const auto written =
      kube::merge_patch(api_, kube::kSimulations, meta.ns, meta.name, patch, "status");
  if (written) {
    if (auto stored = planner::parse_simulation(kube::to_text(*written))) {
      simulations_.update(meta.key(), *std::move(stored));
    }
    queue_.add(meta.key());  // its end
    return ok();
  }
  const Code code = written.error().code;
  if (code == Code::kNotFound || code == Code::kConflict) return ok();  // the watch reports it
  return with_context("write status of simulation " + meta.key(), written.error());
}

bool Simulator::is_one_too_many(const planner::Simulation& simulation) const {
  const auto age = [](const planner::Simulation& one) {
    return std::pair(one.meta.created, one.meta.name);
  };
  const auto all = simulations_.all();
  const auto earlier = std::count_if(all.begin(), all.end(), [&](const auto& one) {
    return one->meta.ns == simulation.meta.ns && !one->completed && age(*one) < age(simulation);
  });
  return static_cast<std::size_t>(earlier) >= kMostInNamespace;
}

Result<planner::Answer> Simulator::answer(const planner::Simulation& simulation) {
  const kube::Meta& meta = simulation.meta;
  const auto text =
      api_.send({"GET", kube::api_path(kube::kSimulations, meta.ns, meta.name), "", ""});
  if (!text) return text.error();
  const auto question = planner::parse_question(*text);
  return question ? answer(*question) : planner::refuse(question.error().message);
}

// A bug must not keep the question forever: it is answered, too.
Result<planner::Answer> Simulator::answer(const planner::Question& question) {
  const int added = std::accumulate(question.added.begin(), question.added.end(), 0,
                                    [](int sum, const auto& nodes) { return sum + nodes.count; });
  if (added > kMostNodes)
    return planner::refuse(fmt::format("more than {} nodes are added", kMostNodes));
  try {
    const std::string& ns = question.ns;
    planner::Snapshot snapshot = cache_.snapshot_for(ns, choose_running(options_));
    planner::WhatIf what{ns, std::nullopt, question.added, question.removed};
    if (question.growth || !question.job.is_null()) {
      auto candidate = find_candidate(question, snapshot);
      if (!candidate && candidate.error().code == Code::kInvalid) {
        return planner::refuse(candidate.error().message);
      }
      if (!candidate) return candidate.error();
      what.candidate = *std::move(candidate);
    }
    const SysTime now = clock_.now();
    planner::Answer answer = planner::simulate(std::move(snapshot), what, now, options_);
    if (answer.verdict == planner::SimulationVerdict::kWaits && what.candidate) {
      answer.latest_start = planner::find_latest_start(cache_.snapshot_for(ns, WithRunning::kYes),
                                                       what, now, options_);
    }
    return answer;
  } catch (const std::exception& error) {
    log_error("simulation failed",
              {{"simulation", question.ns + "/" + question.name}, {"error", error.what()}});
    return planner::refuse("an internal error, see the log of nervex-extender");
  }
}

// kInvalid: the question has no answer. Other errors: try again.
Result<planner::Candidate> Simulator::find_candidate(const planner::Question& question,
                                                     const planner::Snapshot& snapshot) {
  if (!question.growth) return read_job(question);
  auto of_job = find_job(question, snapshot);
  if (!of_job) return of_job.error();
  return planner::make_growth(*question.growth, *std::move(of_job), clock_.now());
}

// As the planner sees it, if the snapshot has it.
Result<gang::PodGroupPtr> Simulator::find_job(const planner::Question& question,
                                              const planner::Snapshot& snapshot) const {
  gang::PodGroupPtr found;
  const auto look_at = [&](const gang::PodGroupPtr& group) {
    if (group->meta.ns != question.ns || group->meta.deleting) return;
    if (kube::label(group->meta, job::kJobLabel) != question.growth->job) return;
    if (!found || found->spec.attempt < group->spec.attempt) found = group;
  };
  for (const planner::GroupSeen& seen : snapshot.groups) look_at(seen.group);
  for (const auto& group : groups_.all()) look_at(group);
  if (found) return found;
  return Error{
      Code::kInvalid,
      fmt::format("job {} neither waits nor runs in namespace {}, or has not been seen yet",
                  question.growth->job, question.ns)};
}

Result<planner::Candidate> Simulator::read_job(const planner::Question& question) {
  const auto config = read_aggregator_config(api_, aggregator_config_);
  if (!config) return with_context("read the AggregatorConfig", config.error());
  const auto classes = read_priority_classes(api_);
  if (!classes) return with_context("list PriorityClasses", classes.error());
  auto candidate =
      planner::make_candidate(question, {*config ? &**config : nullptr, *classes}, clock_.now());
  if (!candidate) return candidate.error();
  candidate->make = [this, make = std::move(candidate->make)](int replicas) {
    VolumesUsed used;
    return *with_volumes(std::make_shared<const gang::PodGroup>(make(replicas)), volumes_, used);
  };
  return candidate;
}

Result<Nothing> Simulator::remove(const planner::Simulation& simulation) {
  const kube::Meta& meta = simulation.meta;
  const auto deleted = kube::delete_object(api_, kube::kSimulations, meta.ns, meta.name, meta.uid);
  const bool is_gone =
      deleted || deleted.error().code == Code::kNotFound || deleted.error().code == Code::kConflict;
  if (!is_gone) return with_context("delete simulation " + meta.key(), deleted.error());
  return ok();
}

void Simulator::remove_surplus(const std::string& ns) {
  std::vector<std::shared_ptr<const planner::Simulation>> answered;
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
