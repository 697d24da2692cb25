#include "cli/queues/queue_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/jobs/explain.h"
#include "view/json.h"

namespace nervex::cli {
namespace {

std::string queue_name(const Json& queue) { return kube::string_at(queue, {"metadata", "name"}); }
std::string parent_name(const Json& queue) { return kube::string_at(queue, {"spec", "parent"}); }

const Json* find_queue_condition(const Json& queue, std::string_view type) {
  for (const auto& condition : kube::array_at(queue, {"status", "conditions"})) {
    if (kube::text_at(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

// "nvidia.com/gpu 8, cpu 64"
std::string amounts(const Json& resources) {
  std::vector<std::string> texts;
  if (!resources.is_object()) return "";
  for (const auto& [resource, amount] : resources.items()) {
    texts.push_back(fmt::format(
        "{} {}", resource, amount.is_string() ? amount.get<std::string>() : kube::to_text(amount)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Of spec.quota or spec.limit: "nvidia.com/gpu 16, on a100: nvidia.com/gpu 8".
std::string bounds(const Json& queue, const char* member) {
  std::vector<std::string> texts;
  for (const auto& bound : kube::array_at(queue, {"spec", member})) {
    const std::string node_class = kube::string_at(bound, {"nodeClass"});
    const Json* resources = kube::find(bound, {"resources"});
    if (resources == nullptr) continue;
    texts.push_back(node_class.empty() ? amounts(*resources)
                                       : fmt::format("on {}: {}", node_class, amounts(*resources)));
  }
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

// What the queue's bounds name, and devices: every queue uses cpu, memory and pods.
std::string shown_use(const Json& queue) {
  std::set<std::string> named;
  for (const char* member : {"quota", "limit"}) {
    for (const auto& bound : kube::array_at(queue, {"spec", member})) {
      if (const Json* resources = kube::find(bound, {"resources"})) {
        for (const auto& [resource, amount] : resources->items()) named.insert(resource);
      }
    }
  }
  const Json* use = kube::find(queue, {"status", "use"});
  if (use == nullptr || !use->is_object()) return "-";
  Json shown = Json::object();
  for (const auto& [resource, amount] : use->items()) {
    if (named.contains(resource) || resource.find('/') != std::string::npos) {
      shown[resource] = amount;
    }
  }
  return shown.empty() ? "-" : amounts(shown);
}

// "Hold", or the reason why nothing can start, or "Ready".
std::string queue_state(const Json& queue) {
  std::string stop = kube::string_at(queue, {"spec", "stop"}, "None");
  if (stop != "None") return stop;
  const Json* ready = find_queue_condition(queue, "Ready");
  return ready == nullptr ? "-" : kube::string_at(*ready, {"reason"}, "-");
}

void append_parts(const std::string& parent,
                  const std::map<std::string, std::vector<Json>>& by_parent,
                  std::vector<Json>& sorted) {
  const auto found = by_parent.find(parent);
  if (found == by_parent.end()) return;
  for (const auto& queue : found->second) {
    sorted.push_back(queue);
    append_parts(queue_name(queue), by_parent, sorted);
  }
}

}  // namespace

std::vector<Json> sort_queues(std::vector<Json> queues) {
  // An object without a name would be a part of itself below.
  std::erase_if(queues, [](const Json& queue) { return queue_name(queue).empty(); });
  std::sort(queues.begin(), queues.end(),
            [](const Json& a, const Json& b) { return queue_name(a) < queue_name(b); });
  std::set<std::string> names;
  for (const auto& queue : queues) names.insert(queue_name(queue));
  std::map<std::string, std::vector<Json>> by_parent;
  for (auto& queue : queues) {
    const std::string parent = parent_name(queue);
    by_parent[names.contains(parent) ? parent : ""].push_back(queue);
  }
  std::vector<Json> sorted;
  append_parts("", by_parent, sorted);
  // Queues that are parts of each other in a circle are not below the root.
  std::set<std::string> placed;
  for (const auto& queue : sorted) placed.insert(queue_name(queue));
  for (auto& queue : queues) {
    if (!placed.contains(queue_name(queue))) sorted.push_back(std::move(queue));
  }
  return sorted;
}

Rows queue_rows(const std::vector<Json>& queues) {
  Rows rows = {{"QUEUE", "PENDING", "RUNNING", "SHARE", "USE", "QUOTA", "LIMIT", "STATE"}};
  std::map<std::string, std::size_t> depths;
  for (const auto& queue : queues) {
    const auto parent = depths.find(parent_name(queue));
    const std::size_t depth = parent == depths.end() ? 0 : parent->second + 1;
    depths[queue_name(queue)] = depth;
    rows.push_back({std::string(2 * depth, ' ') + printable(queue_name(queue)),
                    std::to_string(kube::int_at(queue, {"status", "pending"})),
                    std::to_string(kube::int_at(queue, {"status", "running"})),
                    printable(kube::string_at(queue, {"status", "share"}, "-")),
                    printable(shown_use(queue)), printable(bounds(queue, "quota")),
                    printable(bounds(queue, "limit")), printable(queue_state(queue))});
  }
  return rows;
}

std::vector<JobRow> find_waiting(std::vector<JobRow> jobs) {
  std::erase_if(jobs, [](const JobRow& job) { return job.queue_position == 0 && !job.queued; });
  const auto key = [](const JobRow& job) {
    const bool has_no_position = job.queue_position == 0;
    return std::tuple(std::string_view(job.queue), has_no_position, job.queue_position, job.queued,
                      std::string_view(job.ns), std::string_view(job.name));
  };
  std::sort(jobs.begin(), jobs.end(),
            [&](const JobRow& a, const JobRow& b) { return key(a) < key(b); });
  return jobs;
}

Rows waiting_rows(const std::vector<JobRow>& jobs, SysTime now) {
  Rows rows = {{"NAMESPACE", "NAME", "QUEUE", "POSITION", "PODS", "REASON", "WAITING"}};
  for (const auto& job : jobs) {
    rows.push_back({printable(job.ns), printable(job.name),
                    job.queue.empty() ? "-" : printable(job.queue),
                    coarse_position(job.queue_position), std::to_string(job.wanted),
                    printable(job.reason), job.queued ? duration_since(*job.queued, now) : "-"});
  }
  return rows;
}

std::vector<ReservingGang> find_reserving(const gang::PodGroup& group) {
  std::vector<ReservingGang> found;
  for (const gang::GangStatus& gang : group.status.gangs) {
    auto reservation = view::find_reserved_nodes(gang);
    if (!reservation) continue;
    found.push_back({group.meta.ns.str(), view::job_name(group), gang.name, group.status.queue.name,
                     *std::move(reservation)});
  }
  return found;
}

void sort_reserving(std::vector<ReservingGang>& gangs) {
  std::sort(gangs.begin(), gangs.end(), [](const ReservingGang& a, const ReservingGang& b) {
    return std::tie(a.queue, a.ns, a.job, a.gang) < std::tie(b.queue, b.ns, b.job, b.gang);
  });
}

Rows reserving_rows(const std::vector<ReservingGang>& gangs, SysTime now) {
  Rows rows = {{"NAMESPACE", "NAME", "GANG", "QUEUE", "KEEPS", "STARTS"}};
  for (const auto& gang : gangs) {
    const std::size_t nodes = gang.reservation.nodes.size();
    rows.push_back({printable(gang.ns), printable(gang.job), printable(gang.gang),
                    gang.queue.empty() ? "-" : printable(gang.queue),
                    fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s"),
                    latest_start(gang.reservation, now)});
  }
  return rows;
}

Json to_json(const ReservingGang& gang) {
  Json json = {{"namespace", gang.ns},
               {"name", gang.job},
               {"gang", gang.gang},
               {"reservation", view::to_json(gang.reservation)}};
  if (!gang.queue.empty()) json["queue"] = gang.queue;
  return json;
}

Json queue_json(const Json& queue) {
  Json json = {{"name", queue_name(queue)},
               {"pending", kube::int_at(queue, {"status", "pending"})},
               {"running", kube::int_at(queue, {"status", "running"})}};
  for (const auto& [field, path] :
       {std::pair{"parent", "spec"}, std::pair{"quota", "spec"}, std::pair{"limit", "spec"},
        std::pair{"stop", "spec"}, std::pair{"share", "status"}, std::pair{"use", "status"},
        std::pair{"borrowed", "status"}}) {
    if (const Json* value = kube::find(queue, {path, field})) json[field] = *value;
  }
  if (const Json* ready = find_queue_condition(queue, "Ready")) {
    json["ready"] = kube::text_at(*ready, {"status"}) == "True";
    json["reason"] = kube::string_at(*ready, {"reason"});
    json["message"] = kube::string_at(*ready, {"message"});
  }
  return json;
}

}  // namespace nervex::cli
