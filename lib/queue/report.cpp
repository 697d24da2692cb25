#include "queue/report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "queue/line.h"

namespace nervex::queue {
namespace {

// Names every namespace once, and all queues that select it.
std::vector<QueueAmbiguous> list_ambiguous(const Facts& facts) {
  std::vector<kube::Namespace> namespaces;
  namespaces.reserve(facts.namespaces->size());
  for (const auto& [name, ns] : *facts.namespaces) namespaces.push_back(*ns);
  return find_ambiguous(facts.tree(), namespaces);
}

std::optional<Report::Head> find_head(const QueueTree& tree, QueueIndex queue, const Usage& usage,
                                      const kube::Resources& capacity,
                                      std::vector<const Workload*> own) {
  const Line line(tree[queue], capacity, usage.users(queue), std::move(own));
  const Workload* head = line.head();
  if (head == nullptr) return std::nullopt;
  return Report::Head{head->queued_since, head->priority, head->id, {}};
}

Json make_condition(std::string_view type, bool is_true, std::string_view reason,
                    std::string message, std::int64_t generation, const Json& before, SysTime now) {
  const std::string_view status = is_true ? "True" : "False";
  std::string since = to_rfc3339(now);
  for (const Json& known : kube::array_at(before, {"conditions"})) {
    if (kube::text_at(known, {"type"}) != type || kube::text_at(known, {"status"}) != status) {
      continue;
    }
    if (std::string time = kube::string_at(known, {"lastTransitionTime"}); !time.empty()) {
      since = std::move(time);
    }
  }
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", std::move(message)},
          {"lastTransitionTime", since},
          {"observedGeneration", generation}};
}

Json make_ready(const Report& report, const Json& before, SysTime now) {
  if (!report.problem) {
    return make_condition("Ready", true, "Ready", "workloads of the queue can start",
                          report.generation, before, now);
  }
  return make_condition("Ready", false, code(*report.problem), explain(*report.problem),
                        report.generation, before, now);
}

// Readers of the queue may not be allowed to see the namespaces.
Json make_unambiguous(const Report& report, const Json& before, SysTime now) {
  constexpr std::string_view kType = "NamespacesUnambiguous";
  if (report.ambiguous == 0) {
    return make_condition(kType, true, "Unambiguous", "each of its namespaces has one queue",
                          report.generation, before, now);
  }
  return make_condition(
      kType, false, "QueueAmbiguous",
      fmt::format("{} of its namespaces {} selected by another queue, too: jobs that name no queue "
                  "wait there until the namespace's label {} names one",
                  report.ambiguous, report.ambiguous == 1 ? "is" : "are", kQueueLabel),
      report.generation, before, now);
}

}  // namespace

std::vector<Report> report_queues(const Facts& facts, const Usage& usage,
                                  const kube::Resources& capacity,
                                  std::span<const Workload> waiting) {
  const QueueTree& tree = facts.tree();
  std::vector<std::vector<const Workload*>> own(tree.size());
  std::vector<std::int64_t> pending(tree.size(), 0);
  for (const Workload& workload : waiting) {
    QueueIndex queue = find_home(tree, workload);
    own[queue].push_back(&workload);
    for (; queue != kRoot; queue = tree.parent(queue)) ++pending[queue];
  }
  const std::vector<QueueAmbiguous> ambiguous = list_ambiguous(facts);
  std::vector<Report> reports;
  reports.reserve(tree.size() - 1);
  for (QueueIndex queue = kRoot + 1; queue < tree.size(); ++queue) {
    Report& report = reports.emplace_back();
    report.queue = tree[queue].name;
    report.uid = tree[queue].uid;
    report.generation = tree[queue].generation;
    report.pending = pending[queue];
    report.running = usage.workloads(queue);
    report.use = usage.rigid(queue).total;
    report.use += usage.elastic(queue).total;
    report.borrowed = borrowed(tree, usage, queue);
    report.share = borrowed_share(tree, usage, queue, capacity);
    report.head = find_head(tree, queue, usage, capacity, std::move(own[queue]));
    if (const Inadmissible* problem = tree.problem(queue)) report.problem = *problem;
    report.ambiguous =
        std::count_if(ambiguous.begin(), ambiguous.end(), [&](const QueueAmbiguous& one) {
          return std::find(one.queues.begin(), one.queues.end(), report.queue) != one.queues.end();
        });
  }
  return reports;
}

Json encode_status(const Report& report, const Json& before, SysTime now) {
  Json status{{"observedGeneration", report.generation},
              {"pending", report.pending},
              {"running", report.running},
              {"share", report.share.to_percent()},
              {"conditions", Json::array({make_ready(report, before, now),
                                          make_unambiguous(report, before, now)})}};
  // Left out if empty: where a map loses its last member, server-side apply stores null, and the
  // API server refuses that.
  for (const auto& [field, amounts] :
       {std::pair("use", &report.use), std::pair("borrowed", &report.borrowed)}) {
    Json encoded = kube::encode_resources(*amounts);
    if (!encoded.empty()) status[field] = std::move(encoded);
  }
  for (const SysTime time : report.preemptions) {
    status["recentPreemptions"].push_back(to_rfc3339_micro(time));
  }
  if (report.head) {
    status["head"] = {{"since", to_rfc3339(report.head->since)},
                      {"priority", report.head->priority}};
  }
  return status;
}

}  // namespace nervex::queue
