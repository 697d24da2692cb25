#include "planner/steps/class_limits.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "planner/work/queue_use.h"
#include "queue/inadmissible.h"

namespace nervex::planner {
namespace {

// A node of a class that the limit does not name.
bool has_other_class(const placement::Cluster& nodes, const placement::GroupLimit& limit) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& labels = nodes.node(i).labels;
    const auto label = labels.find(limit.label);
    if (limit.most.count(label == labels.end() ? "" : label->second) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<placement::GroupLimit> make_limits(const queue::ClassCaps& caps,
                                               const std::string& label) {
  std::map<std::string_view, placement::GroupLimit> by_resource;
  for (const auto& [resource, node_class, most] : caps.caps) {
    placement::GroupLimit& limit = by_resource[resource];
    limit.most.emplace(node_class, most);
  }
  std::vector<placement::GroupLimit> limits;
  for (auto& [resource, limit] : by_resource) {
    limit.label = label;
    limit.resource = resource;
    limit.closes_others =
        std::binary_search(caps.only_capped.begin(), caps.only_capped.end(), resource);
    limits.push_back(std::move(limit));
  }
  return limits;
}

gang::NotAdmitted describe_caps(const std::string& queue, const queue::ClassCaps& caps) {
  queue::NodeClassLimit reason;
  reason.queue = queue;
  reason.resource = caps.caps.front().resource;
  for (const auto& [resource, node_class, most] : caps.caps) {
    if (resource == reason.resource) reason.left.push_back({node_class, most});
  }
  return queue::describe(reason);
}

bool exceeds_limits(const GangWork& gang, const std::vector<placement::GroupLimit>& limits,
                    const placement::Cluster& nodes) {
  return std::any_of(limits.begin(), limits.end(), [&](const placement::GroupLimit& limit) {
    if (!limit.closes_others && has_other_class(nodes, limit)) return false;
    __extension__ __int128 left = 0;
    std::int64_t largest = 0;
    for (const auto& [node_class, most] : limit.most) {
      left += std::max<std::int64_t>(most, 0);
      largest = std::max(largest, most);
    }
    return std::any_of(gang.missing.begin(), gang.missing.end(), [&](const gang::MemberSet& set) {
      const std::int64_t need = set.shape.requests.get(limit.resource);
      left -= static_cast<std::int64_t>(set.slots.size()) * __int128{need};
      return left < 0 || need > largest;
    });
  });
}

void set_class_limits(const GroupWork& group, GangWork& gang, const std::string& queue,
                      const queue::ClassCaps& caps, const queue::Facts& facts,
                      const Ledger& ledger) {
  auto limits = make_limits(caps, facts.class_label);
  gang.group_limit_cause = limits.empty() ? gang::NotAdmitted{} : describe_caps(queue, caps);
  if (gang.is_assumed()) return set_group_limits(gang, std::move(limits), ledger);
  gang.group_limits = std::move(limits);
  if (gang.group_limits.empty() || !gang.claims_reserved()) return;
  group.reserved.visit(gang, [&](const gang::MemberSet& set, std::string_view node, int pods) {
    ledger.use_up(gang.group_limits, set.shape.requests, node, -pods);
  });
}

queue::Usage count_class_use(CycleWork& work, const queue::Facts& facts, const Ledger& ledger) {
  if (!facts.tree().uses_classes()) return queue::Usage(facts.tree());
  return count_use(work, facts, ledger, PreemptingUse::kBeyondVictims);
}

void ClassLimits::apply(const GroupWork& group, GangWork& gang, queue::QueueIndex queue) const {
  queue::Workload workload = group.seen->make_workload(gang.position);
  // A cap is of a resource that the workload requests, and slots that have finished are not in it.
  for (const gang::MemberSet* set : gang.sets) {
    queue::add_requests(workload.requests, set->shape.requests);
  }
  set_class_limits(group, gang, facts_.tree()[queue].name,
                   queue::find_caps(facts_.tree(), usage_, queue, workload, std::nullopt), facts_,
                   ledger_);
}

// Of all its gangs: what one takes may be reserved with another.
queue::ClassRequests ClassLimits::count(const GroupWork& group) const {
  queue::ClassRequests all;
  for (const GangWork& gang : group.gangs) {
    for (const auto& [node_class, requests] : count_classes(group, gang, facts_, ledger_)) {
      all[node_class] += requests;
    }
  }
  return all;
}

void ClassLimits::place(GroupWork& group, GangWork& gang, const std::function<void()>& place) {
  if (!is_on_) return place();
  const queue::QueueTree& tree = facts_.tree();
  const queue::QueueIndex queue = queue::find_home(tree, make_workload(group, gang, tree));
  apply(group, gang, queue);
  const queue::ClassRequests before = count(group);
  place();
  usage_.move(tree, queue, before, count(group));
}

void ClassLimits::recount(CycleWork& work) {
  if (is_on_) usage_ = count_class_use(work, facts_, ledger_);
}

}  // namespace nervex::planner
