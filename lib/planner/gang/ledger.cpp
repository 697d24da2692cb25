#include "planner/gang/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/model/anti_affinity.h"

namespace nervex::planner {
namespace {

const char* reason_text(kube::NodeFit fit) {
  switch (fit) {
    case kube::NodeFit::kAllowed:
      break;
    case kube::NodeFit::kNotReady:
      return "not ready";
    case kube::NodeFit::kUnschedulable:
      return "cordoned";
    case kube::NodeFit::kTainted:
      return "tainted";
    case kube::NodeFit::kNotSelected:
      return "not selected any more";
    case kube::NodeFit::kVolumeElsewhere:
      return "out of reach of a volume";
  }
  return "allowed";
}

kube::Resources list_counters(const gang::MemberSet& set) {
  kube::Resources counters;
  for (const auto& [name, amount] : set.shape.requests.amounts()) {
    if (kube::is_counter(name)) counters.set(name, amount);
  }
  return counters;
}

}  // namespace

Ledger::Ledger(placement::Cluster nodes, std::vector<Nominated> nominated)
    : nodes_(std::move(nodes)), nominated_(std::move(nominated)) {
  std::stable_sort(nominated_.begin(), nominated_.end(),
                   [](const auto& a, const auto& b) { return a.priority > b.priority; });
}

void Ledger::count_for(int priority) {
  const auto count = [this](const Nominated& pods, int times) {
    if (const auto at = nodes_.find(pods.node)) nodes_.take(*at, pods.requests, times);
  };
  for (; counted_ < nominated_.size() && nominated_[counted_].priority >= priority; ++counted_) {
    count(nominated_[counted_], 1);
  }
  for (; counted_ > 0 && nominated_[counted_ - 1].priority < priority; --counted_) {
    count(nominated_[counted_ - 1], -1);
  }
}

std::string_view Ledger::shared_and_taken(const kube::Resources& requests, std::size_t node) const {
  for (const auto& [resource, amount] : requests.amounts()) {
    const std::string_view key = kube::parse_topology_key(resource);
    if (key.empty() || key == kube::kHostname) continue;
    const auto& labels = nodes_.node(node).labels;
    const auto value = labels.find(key);
    if (value == labels.end()) continue;
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
      if (other == node || nodes_.free(other, resource) >= 0) continue;
      const auto its = nodes_.node(other).labels.find(key);
      if (its != nodes_.node(other).labels.end() && its->second == value->second) return resource;
    }
  }
  return {};
}

std::string Ledger::objection(const gang::MemberSet& set, std::string_view node) const {
  const auto at = nodes_.find(node);
  if (!at) return fmt::format("node {} was deleted", node);
  const kube::NodeFit fit = nodes_.fit(*at, set.shape.constraints);
  return fit == kube::NodeFit::kAllowed ? "" : fmt::format("node {} is {}", node, reason_text(fit));
}

Result<Nothing> Ledger::check(const gang::MemberSet& set, std::string_view node) const {
  if (auto why = objection(set, node); !why.empty()) return Error{Code::kConflict, std::move(why)};
  const std::size_t at = *nodes_.find(node);
  std::string lacking(nodes_.first_lacking(at, set.shape.requests));
  if (lacking.empty()) lacking = shared_and_taken(set.shape.requests, at);
  if (lacking.empty()) return ok();
  if (const auto key = kube::parse_topology_key(lacking); !key.empty()) {
    return Error{
        Code::kConflict,
        fmt::format("{} keeps apart by {} from a pod on node {} or near it", set.role, key, node)};
  }
  if (kube::is_implicit(lacking)) {
    return Error{Code::kConflict, fmt::format("{} is taken on node {} and {} needs it",
                                              kube::format_need(lacking, 1), node, set.role)};
  }
  return Error{
      Code::kConflict,
      fmt::format("node {} has {} {} left and {} needs {}", node,
                  kube::format_amount(lacking, nodes_.free(at, lacking)), lacking, set.role,
                  kube::format_amount(lacking, set.shape.requests.get(lacking)))};
}

bool Ledger::fits(const gang::MemberSet& set, std::string_view node) const {
  const auto at = nodes_.find(node);
  return at && nodes_.first_lacking(*at, set.shape.requests).empty() &&
         nodes_.fit(*at, set.shape.constraints) == kube::NodeFit::kAllowed &&
         !is_taken_nearby(set.shape.requests, *at);
}

bool Ledger::has_capacity(const gang::MemberSet& set, std::string_view node) const {
  const auto at = nodes_.find(node);
  return at && nodes_.first_lacking(*at, set.shape.requests).empty();
}

bool Ledger::has_capacity_for_its_own(const gang::MemberSet& set, std::string_view node) {
  const auto at = nodes_.find(node);
  if (!at) return false;
  nodes_.take(*at, set.shape.requests, -1);
  const bool fits = nodes_.first_lacking(*at, set.shape.requests).empty();
  nodes_.take(*at, set.shape.requests);
  return fits;
}

bool Ledger::is_allowed(const gang::MemberSet& set, std::string_view node) const {
  return objection(set, node).empty();
}

void Ledger::stop_counting(const gang::MemberSet& set, std::string_view node) {
  hold(list_counters(set), node, -1);
}

void Ledger::count_again(const gang::MemberSet& set, std::string_view node) {
  hold(list_counters(set), node);
}

void Ledger::take(const gang::MemberSet& set, std::string_view node) {
  ++changes_;
  if (const auto at = nodes_.find(node)) nodes_.take(*at, set.shape.requests);
}

void Ledger::give_back(const gang::MemberSet& set, std::string_view node) {
  lend(set, node);
  has_given_back_ = true;
}

void Ledger::lend(const kube::Resources& requests, std::string_view node) {
  ++gains_;
  ++changes_;
  if (const auto at = nodes_.find(node)) nodes_.take(*at, requests, -1);
}

void Ledger::hold(const kube::Resources& amount, std::string_view node, int times) {
  if (amount.empty()) return;
  ++changes_;
  if (const auto at = nodes_.find(node)) nodes_.take(*at, amount, times);
}

void Ledger::use_up(std::vector<placement::GroupLimit>& limits, const kube::Resources& requests,
                    std::string_view node, int pods) const {
  for (placement::GroupLimit& limit : limits) {
    const auto most = limit.most.find(label(node, limit.label));
    if (most == limit.most.end()) continue;
    const std::int64_t used = requests.get(limit.resource) * pods;
    most->second = std::max<std::int64_t>(0, most->second - used);
  }
}

bool Ledger::is_within(const std::vector<placement::GroupLimit>& limits,
                       const kube::Resources& requests, std::string_view node) const {
  return std::all_of(limits.begin(), limits.end(), [&](const placement::GroupLimit& limit) {
    const std::int64_t asked = requests.get(limit.resource);
    const auto most = limit.most.find(label(node, limit.label));
    if (most == limit.most.end()) return asked <= 0 || !limit.closes_others;
    return asked <= most->second;
  });
}

std::string_view Ledger::label(std::string_view node, std::string_view name) const {
  const auto at = nodes_.find(node);
  if (!at) return {};
  const auto& labels = nodes_.node(*at).labels;
  const auto label = labels.find(name);
  return label == labels.end() ? std::string_view() : std::string_view(label->second.str());
}

}  // namespace nervex::planner
