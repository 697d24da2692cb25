#include "planner/foreign/foreign_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "gang/avoided_nodes.h"
#include "kube/model/resources.h"
#include "placement/spread.h"
#include "planner/facts/next_look.h"
#include "planner/recovery/refusals.h"

namespace nervex::planner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMessagePeriod{60'000};
// Pods are created one by one: missing pods are not reported at first.
constexpr milliseconds kFewPods{2'000};

// Of one gang: with more, its pods do not count in all of its constraints. kube-scheduler checks
// each.
constexpr std::size_t kMaxSelectors = 16;

struct Counted {
  kube::PodSelector pods;
  kube::LabelSelector selector;
};

// The topology spread constraints of a gang by the pods that they count.
std::vector<Counted> list_counted(const ForeignGangSeen& seen) {
  std::vector<Counted> counted;
  for (const ForeignPod& one : seen.pending) {
    for (const kube::TopologySpread& spread : one.pod->detail->spread) {
      const bool is_known = std::any_of(counted.begin(), counted.end(), [&](const Counted& each) {
        return each.pods == spread.pods;
      });
      if (is_known || counted.size() == kMaxSelectors) continue;
      if (auto selector = kube::decode_selector(spread.pods)) {
        counted.push_back({spread.pods, *std::move(selector)});
      }
    }
  }
  return counted;
}

// The counters of those that count the pod.
kube::Resources list_counters(const kube::Pod& pod, const std::vector<Counted>& counted) {
  kube::Resources counters;
  for (const Counted& one : counted) {
    if (one.pods.ns != pod.meta.ns || !kube::matches(one.selector, pod.meta.labels)) continue;
    counters.set(one.pods.counter, 1);
  }
  return counters;
}

// Equal for pods that kube-scheduler and the planner can exchange for each other.
std::string shape_name(const kube::Pod& pod, const kube::Resources& counters,
                       const Json& volume_terms) {
  std::string text;
  for (const auto& [name, amount] : pod.requests.amounts()) {
    text += fmt::format("{}={};", name, amount);
  }
  text += fmt::format("{};{};", pod.detail->constraints.text(), kube::to_text(volume_terms));
  for (const std::string& claim : pod.detail->claims) text += claim + ";";
  for (const auto& [name, amount] : counters.amounts()) text += name + ";";
  for (const auto& spread : pod.detail->spread) {
    text += fmt::format("{};{};{};{};{};{};{};", spread.key, spread.max_skew, spread.min_domains,
                        spread.is_required, spread.honors_affinity, spread.honors_taints,
                        spread.pods.counter);
  }
  return fmt::format("{:016x}", std::hash<std::string>()(text));
}

gang::SlotId slot_of(std::size_t pod) { return {static_cast<int>(pod), 0}; }
std::size_t pod_of(const PlacedSlot& slot) {
  return static_cast<std::size_t>(slot.placement.slot.ordinal);
}

}  // namespace

ForeignWork::ForeignWork(const ForeignGangSeen& seen, const ForeignMemory::Gang* before,
                         SysTime now)
    : seen_(seen), now_(now) {
  if (before != nullptr) memory_ = *before;
  const std::vector<Counted> counted = list_counted(seen);
  for (const ForeignPod& pod : seen.pending) {
    add_shape(pod, counted.empty() ? kube::Resources() : list_counters(*pod.pod, counted));
  }
  for (gang::MemberSet& shape : shapes_) {
    shape.role = seen.group->is_pod    ? "pod"
                 : shapes_.size() == 1 ? "pods"
                                       : "pods like " + shape.role;
  }
  std::vector<std::string_view> sets;
  for (const std::size_t shape : shape_of_) sets.push_back(shapes_[shape].name);
  attempts_ = note_attempts(seen, sets, now, memory_);
  memory_.avoid = gang::still_of_use(std::move(memory_.avoid), now);
  plan_.limits = collect_node_limits(memory_.avoid, now);
}

void ForeignWork::add_shape(const ForeignPod& one, const kube::Resources& counters) {
  const kube::Pod& pod = *one.pod;
  std::string name = shape_name(pod, counters, one.volume_terms);
  const auto known = std::find_if(shapes_.begin(), shapes_.end(),
                                  [&](const auto& shape) { return shape.name == name; });
  shape_of_.push_back(static_cast<std::size_t>(known - shapes_.begin()));
  if (known != shapes_.end()) return;
  gang::MemberSet set;
  set.name = std::move(name);
  set.role = pod.meta.name;
  set.shape.requests = pod.requests;
  set.shape.requests += counters;
  set.shape.constraints = pod.detail->constraints;
  set.shape.spread = pod.detail->spread;
  if (one.volume_terms.is_array()) {
    set.shape.constraints.edit(
        [&](kube::NodeConstraints& constraints) { constraints.volume_terms = one.volume_terms; });
  }
  shapes_.push_back(std::move(set));
}

int ForeignWork::priority() const {  // they are sorted by it
  return seen_.pending.empty() ? 0 : seen_.pending.front().pod->priority;
}

queue::Rank ForeignWork::rank() const { return queue::rank(*seen_.group, priority()); }

void ForeignWork::begin_pass() {
  plan_.no_fit.reset();
  rule_.reset();
  lacking_.reset();
  full_.assign(shapes_.size(), std::nullopt);
}

std::vector<ForeignPart> ForeignWork::list_waiting() const {
  std::vector<ForeignPart> parts;
  if (!may_place()) return parts;
  std::vector<std::size_t> first;
  if (!plan_.is_assumed() && needed() > 1) first = still_needed();
  if (!first.empty()) parts.push_back({first, false});
  const std::vector<std::size_t> pods = unplaced();
  for (std::size_t i = first.size(); i < pods.size(); ++i) parts.push_back({{pods[i]}, true});
  return parts;
}

queue::Workload ForeignWork::make_workload(const ForeignPart& part) const {
  kube::Resources requests;
  for (const std::size_t pod : part.pods) requests += seen_.pending[pod].pod->requests;
  queue::Workload workload = queue::make_workload(*seen_.group, priority(), std::move(requests),
                                                  queue::Workload::State::kWaiting);
  workload.position = static_cast<int>(part.pods.front());
  return workload;
}

bool ForeignWork::replaces_lost(const ForeignPart& part) const {
  kube::Resources requests;
  for (const PlacedSlot& slot : plan_.placed) requests += slot.set->shape.requests;
  for (const std::size_t pod : part.pods) requests += seen_.pending[pod].pod->requests;
  return without_implicit(requests).fits_in(seen_.lost_requests);
}

// Pods that a gang of several does not need wait until it has started.
bool ForeignWork::may_start(const ForeignPart& part) const {
  return !part.is_extra || plan_.is_assumed() || needed() <= 1;
}

void ForeignWork::hold(const ForeignPart& part, gang::NotAdmitted why) {
  if (!may_start(part)) return;
  if (plan_.is_assumed()) {
    if (!rule_) rule_ = std::move(why);
  } else if (!plan_.no_fit) {
    plan_.no_fit = std::move(why);
  }
}

void ForeignWork::note_full(const ForeignPart& part,
                            const std::vector<placement::GroupLimit>& limits) {
  if (part.is_extra && may_start(part)) full_[shape_of_[part.pods.front()]] = limits;
}

bool ForeignWork::is_full(const ForeignPart& part,
                          const std::vector<placement::GroupLimit>& limits) const {
  return part.is_extra && full_[shape_of_[part.pods.front()]] == limits;
}

const gang::PodShape* ForeignWork::plain_shape() const {
  return seen_.group->is_pod && !shapes_.empty() ? &shapes_.front().shape : nullptr;
}

const gang::NoFit* ForeignWork::common_no_fit() const {
  const std::optional<gang::NoFit>& no_fit = plan_.no_fit;
  const bool is_own =
      !memory_.avoid.empty() || (no_fit && std::holds_alternative<gang::NotAdmitted>(*no_fit));
  return no_fit && !is_own ? &*no_fit : nullptr;
}

queue::Workload ForeignWork::make_used_workload() const {
  kube::Resources requests = seen_.bound_requests;
  requests += seen_.ending_requests;
  for (const PlacedSlot& slot : plan_.placed) requests += slot.set->shape.requests;
  return queue::make_workload(*seen_.group, priority(), std::move(requests),
                              queue::Workload::State::kRunning);
}

queue::ClassRequests ForeignWork::count_classes(const Ledger& ledger,
                                                const std::string& label) const {
  queue::ClassRequests classes;
  const auto add = [&](const std::string& node, const kube::Resources& requests) {
    queue::add_requests(classes, ledger.label(node, label), requests);
  };
  for (const auto& [node, requests] : seen_.used_on) add(node, requests);
  for (const PlacedSlot& slot : plan_.placed) add(slot.placement.node, slot.set->shape.requests);
  return classes;
}

bool ForeignWork::has_enough_pods() const {
  return static_cast<std::int64_t>(seen_.pending.size()) >= needed();
}

bool ForeignWork::is_paused() const {
  return memory_.failures >= kStartsBeforePause && memory_.not_before > now_;
}

std::vector<std::string_view> ForeignWork::list_nodes() const {
  std::vector<std::string_view> nodes(seen_.pending.size());
  for (const PlacedSlot& slot : plan_.placed) nodes[pod_of(slot)] = slot.placement.node;
  return nodes;
}

std::vector<std::size_t> ForeignWork::unplaced() const {
  const std::vector<std::string_view> nodes = list_nodes();
  std::vector<std::size_t> pods;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].empty()) pods.push_back(i);
  }
  return pods;
}

// The first ones that the gang lacks to start.
std::vector<std::size_t> ForeignWork::still_needed() const {
  std::vector<std::size_t> pods = unplaced();
  const auto left = static_cast<std::size_t>(std::max<std::int64_t>(0, needed() - placed()));
  pods.resize(std::min(pods.size(), left));
  return pods;
}

void ForeignWork::take(std::size_t pod, std::string node, Ledger& ledger) {
  const gang::MemberSet& shape = shapes_[shape_of_[pod]];
  ledger.take(shape, node);
  plan_.placed.push_back({&shape, {shape.role, slot_of(pod), std::move(node), 0}, false});
}

void ForeignWork::give_back(const std::vector<std::size_t>& pods, Ledger& ledger) {
  std::erase_if(plan_.placed, [&](const PlacedSlot& slot) {
    if (!std::binary_search(pods.begin(), pods.end(), pod_of(slot))) return false;
    ledger.give_back(*slot.set, slot.placement.node);
    return true;
  });
}

void ForeignWork::give_back_all(Ledger& ledger) {
  planner::give_back(plan_, ledger);
  plan_.placed.clear();
}

void ForeignWork::yield(Ledger& ledger) {
  give_back_all(ledger);
  plan_.move_to(GangStage::kWaiting);
}

bool ForeignWork::holds_unseen() const {
  return std::any_of(plan_.placed.begin(), plan_.placed.end(), [this](const PlacedSlot& slot) {
    return slot.placement.node != seen_.pending[pod_of(slot)].pod->nominated_node;
  });
}

// Is capacity of the pods' nominations free in the ledger that the nodes show as taken?
void ForeignWork::note_dropped(Ledger& ledger) const {
  const std::vector<std::string_view> nodes = list_nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& nominated = seen_.pending[i].pod->nominated_node;
    if (!nominated.empty() && nodes[i] != nominated) return ledger.note_dropped_plan();
  }
}

void ForeignWork::recheck(Ledger& ledger) {
  ledger.count_for(priority());
  retake_nominated(ledger);
  note_dropped(ledger);
}

void ForeignWork::retake_nominated(Ledger& ledger) {
  if (!has_enough_pods() || is_paused()) return;
  bool all_fit = true;
  for (std::size_t i = 0; i < seen_.pending.size() && all_fit; ++i) {
    if (attempts_.nominated[i].empty() || attempts_.is_refused[i]) continue;
    all_fit = ledger.fits(shapes_[shape_of_[i]], attempts_.nominated[i]);
    if (all_fit) take(i, attempts_.nominated[i], ledger);
  }
  if (all_fit && has_started()) {
    plan_.assume();
  } else {
    yield(ledger);
  }
}

// What still fits stays where it is, if the rest fits beside it.
void ForeignWork::take_nominated(const std::vector<std::size_t>& pods, Ledger& ledger) {
  for (const std::size_t pod : pods) {
    const std::string& node = attempts_.nominated[pod];
    if (node.empty() || attempts_.is_refused[pod]) continue;
    const gang::MemberSet& shape = shapes_[shape_of_[pod]];
    const auto limits = group_limits_left(plan_, ledger);
    const bool is_within = ledger.is_within(limits, shape.shape.requests, node);
    if (is_within && ledger.fits(shape, node)) take(pod, node, ledger);
  }
}

bool ForeignWork::complete(const ForeignPart& part, Ledger& ledger,
                           const std::vector<placement::GroupLimit>& limits,
                           const gang::NotAdmitted& limit_cause) {
  ledger.count_for(priority());
  if (!may_place() || !may_start(part)) return false;
  if (!plan_.is_assumed()) lacking_ = lacking_in_total(ledger);
  if (lacking_) return false;
  set_group_limits(plan_, limits, ledger);
  const bool is_placed = place_part(part, ledger);
  const bool is_limited =
      !is_placed && !limits.empty() &&
      std::holds_alternative<std::vector<placement::Assignment>>(search(part.pods, {}, ledger));
  if (is_limited) plan_.no_fit = limit_cause;
  if (is_limited) hold(part, limit_cause);
  if (is_placed) plan_.assume();
  return is_placed;
}

bool ForeignWork::place_part(const ForeignPart& part, Ledger& ledger) {
  const auto place_rest = [&] {
    std::set<std::size_t> rest(part.pods.begin(), part.pods.end());
    for (const PlacedSlot& slot : plan_.placed) rest.erase(pod_of(slot));
    return place({rest.begin(), rest.end()}, ledger);
  };
  take_nominated(part.pods, ledger);
  if (place_rest()) return true;
  give_back(part.pods, ledger);
  return place_rest();
}

bool ForeignWork::complete_all(Ledger& ledger) {
  ledger.count_for(priority());
  if (seen_.pending.empty() || !may_place()) return false;
  if (plan_.is_assumed()) return place_extras(ledger);
  lacking_ = lacking_in_total(ledger);
  if (lacking_) return false;
  take_nominated(unplaced(), ledger);
  const auto place_pods = [&] { return place(unplaced(), ledger) || place_needed(ledger); };
  if (!place_pods()) {
    give_back_all(ledger);
    if (!place_pods()) {
      give_back_all(ledger);
      return false;
    }
  }
  place_extras(ledger);
  if (placed() > 0) plan_.assume();
  return placed() > 0;
}

// The first pods, as many as are needed beside those that have a node.
bool ForeignWork::place_needed(Ledger& ledger) {
  const std::int64_t left = needed() - placed();
  if (left <= 0 || needed() <= 1) return true;
  std::vector<std::size_t> first = unplaced();
  if (static_cast<std::int64_t>(first.size()) <= left) return false;  // all: tried before
  first.resize(static_cast<std::size_t>(left));
  return place(first, ledger);
}

// Each pod alone: the gang starts without them.
bool ForeignWork::place_extras(Ledger& ledger) {
  bool any = false;
  std::vector<bool> is_full(shapes_.size(), false);
  for (const std::size_t pod : unplaced()) {
    if (is_full[shape_of_[pod]]) continue;
    if (place({pod}, ledger)) {
      any = true;
    } else {
      is_full[shape_of_[pod]] = true;
    }
  }
  return any;
}

placement::Plan ForeignWork::search(const std::vector<std::size_t>& pods,
                                    const std::vector<placement::GroupLimit>& group_limits,
                                    const Ledger& ledger) const {
  std::vector<gang::MemberSet> sets = shapes_;
  for (const std::size_t pod : pods) sets[shape_of_[pod]].slots.push_back(slot_of(pod));
  std::erase_if(sets, [](const gang::MemberSet& set) { return set.slots.empty(); });
  return placement::plan_spread(sets, ledger.nodes(), {limits_left(plan_), group_limits});
}

bool ForeignWork::place(const std::vector<std::size_t>& pods, Ledger& ledger) {
  if (pods.empty()) return true;
  placement::Plan found = search(pods, group_limits_left(plan_, ledger), ledger);
  if (auto* no_fit = std::get_if<gang::NoFit>(&found)) {
    plan_.no_fit = std::move(*no_fit);
    return false;
  }
  for (placement::Assignment& assigned : std::get<std::vector<placement::Assignment>>(found)) {
    take(static_cast<std::size_t>(assigned.slot.ordinal), std::move(assigned.node), ledger);
  }
  return true;
}

// minResources includes what the gang already has.
std::optional<MinResourcesNotFree> ForeignWork::lacking_in_total(const Ledger& ledger) const {
  const kube::Resources& asked = seen_.group->min_resources;
  if (asked.empty() || needed() <= 1) return std::nullopt;
  kube::Resources total = seen_.bound_requests;
  const placement::Cluster& nodes = ledger.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes.node(i).ready || nodes.node(i).unschedulable) continue;
    for (const auto& [name, amount] : asked.amounts()) {
      const std::int64_t free = std::max<std::int64_t>(0, nodes.free(i, name));
      total.set(name, total.get(name) + free);
    }
  }
  const std::string name(asked.first_lacking(total));
  if (name.empty()) return std::nullopt;
  return MinResourcesNotFree{name, asked.get(name), total.get(name)};
}

// ---- decisions

std::optional<ForeignWait> ForeignWork::find_wait() const {
  if (seen_.pending.empty()) return std::nullopt;
  const auto because = [this](auto cause) {
    return ForeignWait{std::move(cause), memory_.refusal};
  };
  if (!has_enough_pods()) {
    const auto pending = static_cast<std::int64_t>(seen_.pending.size());
    return ForeignWait{TooFewPods{seen_.counts.started() + pending, seen_.group->min_member}};
  }
  if (is_paused()) return because(StartPaused{memory_.failures, memory_.not_before});
  if (lacking_) return because(*lacking_);
  if (plan_.no_fit && !plan_.is_assumed()) return because(*plan_.no_fit);
  if (rule_ && plan_.is_assumed()) return because(gang::NoFit(*rule_));
  return std::nullopt;
}

// Changed numbers alone are reported only once in a while.
void ForeignWork::report(ForeignMemory::Gang& memory, ForeignDecision& out) const {
  std::optional<ForeignWait> wait = find_wait();
  if (!wait || has_enough_pods()) {
    memory.few_since.reset();
  } else if (!memory.few_since) {
    memory.few_since = now_;
  }
  out.wait = memory.wait;
  if (memory.few_since && now_ < *memory.few_since + kFewPods) {
    return look_by(out.look_again, *memory.few_since + kFewPods);
  }
  if (wait && memory.wait) {
    // Not all numbers of a cause are part of its sentence.
    if (*wait == *memory.wait || explain(*wait) == explain(*memory.wait)) return;
    const SysTime due = memory.reported + kMessagePeriod;
    if (same_cause(*wait, *memory.wait) && now_ < due) return look_by(out.look_again, due);
  } else if (!wait && !memory.wait) {
    return;
  }
  out.wait = memory.wait = std::move(wait);
  out.is_news = true;
  memory.reported = now_;
}

ForeignDecision ForeignWork::decide(ForeignMemory::Gang& memory) const {
  memory = memory_;
  ForeignDecision out;
  out.group = seen_.group;
  out.placed = placed();
  const std::vector<std::string_view> nodes = list_nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == attempts_.nominated[i]) continue;
    if (!nodes[i].empty() && memory_.not_before > now_) {
      look_by(out.look_again, memory_.not_before);
      continue;
    }
    out.nominations.push_back({seen_.pending[i].pod, std::string(nodes[i])});
  }
  if (memory_.not_before > now_) look_by(out.look_again, memory_.not_before);
  look_by(out.look_again, find_next_judgement(memory_));
  if (plan_.no_fit) look_by(out.look_again, avoided_until(memory_.avoid, now_));
  report(memory, out);
  return out;
}

}  // namespace nervex::planner
