#include "extender/cycle/foreign_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "extender/bind/filter.h"
#include "extender/recovery/refusals.h"
#include "kube/model/resources.h"
#include "placement/plan.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstDelay{1'000};
constexpr milliseconds kLongestDelay{60'000};
constexpr milliseconds kMessagePeriod{60'000};
constexpr std::size_t kMaxMessage = 1024;
constexpr int kSure = 2;  // strikes
// From the gang's first failed bind until all held binds have failed.
constexpr milliseconds kJudgeStart{1'000};
// Pods are created one by one: missing pods are not reported at first.
constexpr milliseconds kFewPods{2'000};

// Equal for pods that kube-scheduler and the planner can exchange for each other.
std::string shape_name(const kube::Pod& pod, const Json& volume_terms) {
  std::string text;
  for (const auto& [name, amount] : pod.requests.amounts()) {
    text += fmt::format("{}={};", name, amount);
  }
  const kube::NodeConstraints& constraints = pod.detail->constraints;
  for (const Json& part : {constraints.node_selector, constraints.node_selector_terms,
                           constraints.tolerations, constraints.preferred_terms, volume_terms}) {
    text += kube::to_text(part) + ";";
  }
  for (const std::string& claim : pod.detail->claims) text += claim + ";";
  return fmt::format("{:016x}", std::hash<std::string>()(text));
}

// The nomination was written and the API does not show it yet.
bool is_in_flight(const kube::Pod& pod, const ForeignMemory::Nomination& written) {
  if (written.version.empty()) return false;
  return pod.meta.resource_version == written.base_version ||
         kube::is_newer_version(written.version, pod.meta.resource_version);
}

milliseconds delay_after(int failures) {
  if (failures <= 1) return milliseconds(0);
  return std::min(kFirstDelay * (1 << std::min(failures - 2, 10)), kLongestDelay);
}

}  // namespace

// ---- observations

ForeignWork::ForeignWork(const ForeignGangSeen& seen, const ForeignMemory::Gang* before,
                         SysTime now)
    : seen_(seen), now_(now) {
  if (before != nullptr) memory_ = *before;
  for (const ForeignPod& pod : seen.pending) add_shape(pod);
  for (Shape& shape : shapes_) {
    shape.set.role = shapes_.size() == 1 ? "pods" : "pods like " + shape.set.role;
  }
  node_.resize(seen.pending.size());
  is_refused_.resize(seen.pending.size(), false);
  note_attempts();
  memory_.avoid = still_of_use(std::move(memory_.avoid), now);
}

void ForeignWork::add_shape(const ForeignPod& one) {
  const kube::Pod& pod = *one.pod;
  std::string name = shape_name(pod, one.volume_terms);
  const auto known = std::find_if(shapes_.begin(), shapes_.end(),
                                  [&](const Shape& shape) { return shape.set.name == name; });
  shape_of_.push_back(static_cast<std::size_t>(known - shapes_.begin()));
  if (known != shapes_.end()) {
    ++known->pods;
    return;
  }
  gang::MemberSet set;
  set.name = std::move(name);
  set.role = pod.meta.name;
  set.shape.requests = pod.requests;
  set.shape.constraints = pod.detail->constraints;
  if (one.volume_terms.is_array()) set.shape.constraints.volume_terms = one.volume_terms;
  shapes_.push_back({std::move(set), 1});
}

// Which nominations are there, and which attempts have failed since the last cycle?
void ForeignWork::note_attempts() {
  if (seen_.counts.bound > memory_.bound) memory_.failures = 0;
  memory_.bound = seen_.counts.bound;
  std::map<std::string, ForeignMemory::Nomination> known = std::move(memory_.nominations);
  memory_.nominations.clear();
  bool has_failed = false;
  for (std::size_t i = 0; i < seen_.pending.size(); ++i) {
    const kube::Pod& pod = *seen_.pending[i].pod;
    nominated_.push_back(pod.nominated_node);
    const auto at = known.find(pod.meta.uid);
    if (at == known.end()) {
      if (pod.nominated_node.empty()) continue;
      // By the leader before this one.
      const std::string& version = pod.meta.resource_version;
      memory_.nominations.emplace(
          pod.meta.uid,
          ForeignMemory::Nomination{pod.nominated_node, version, version, now_, "", 0});
      continue;
    }
    ForeignMemory::Nomination written = std::move(at->second);
    if (is_in_flight(pod, written)) {
      nominated_.back() = written.node;
    } else if (!written.node.empty() && pod.nominated_node.empty()) {
      if (pod.unscheduled_reason == "Unschedulable") {
        note_refusal(i, written);
      } else {  // of the extender or of the bind: it says nothing about the node
        has_failed = true;
      }
      written.node.clear();
    }
    memory_.nominations.emplace(pod.meta.uid, std::move(written));
  }
  note_failed_start(has_failed);
}

// Binds were held and have failed, because kube-scheduler refuses some of the pods that did not
// come. Only their condition shows it: kube-scheduler neither retries them nor clears their
// nomination until something changes that its plugins wait for. A pod whose bind was held may have
// an old condition of this kind; its nomination is cleared, but not at the same moment.
void ForeignWork::note_failed_start(bool has_failed) {
  if (has_failed) {
    ++memory_.failures;
    memory_.not_before = now_ + delay_after(memory_.failures);
    if (!memory_.failed_at) memory_.failed_at = now_;
  }
  if (!memory_.failed_at || now_ < *memory_.failed_at + kJudgeStart) return;
  const SysTime failed_at = *memory_.failed_at;
  memory_.failed_at.reset();
  for (std::size_t i = 0; i < seen_.pending.size(); ++i) {
    const kube::Pod& pod = *seen_.pending[i].pod;
    const auto written = memory_.nominations.find(pod.meta.uid);
    const bool did_not_come = written != memory_.nominations.end() &&
                              written->second.at < failed_at && !pod.nominated_node.empty() &&
                              pod.nominated_node == written->second.node;
    const bool is_refused = pod.unscheduled_reason == "Unschedulable" &&
                            !says_group_waits(pod.unscheduled_message, seen_.group->meta.name);
    if (!did_not_come || !is_refused || is_no_nodes_fault(pod.unscheduled_message)) continue;
    avoid(i, pod.nominated_node);
    memory_.failures = 0;
    memory_.not_before = now_;
  }
}

// kube-scheduler also clears the nomination if the attempt began before it: the proof is a message
// that names the node, or a second failure.
void ForeignWork::note_refusal(std::size_t i, ForeignMemory::Nomination& nomination) {
  const kube::Pod& pod = *seen_.pending[i].pod;
  if (says_group_waits(pod.unscheduled_message, seen_.group->meta.name) ||
      is_no_nodes_fault(pod.unscheduled_message)) {
    return;
  }
  if (nomination.refused_on != nomination.node) nomination.strikes = 0;
  nomination.refused_on = nomination.node;
  const std::string& said = pod.unscheduled_message;
  nomination.strikes += names_refused_node(said, nomination.node) ? kSure : 1;
  if (nomination.strikes < kSure) return;
  nomination.strikes = 0;
  avoid(i, nomination.node);
}

// Avoids the node once if several pods were refused there in one start.
void ForeignWork::avoid(std::size_t i, const std::string& node) {
  const kube::Pod& pod = *seen_.pending[i].pod;
  const std::string& set = shapes_[shape_of_[i]].set.name;
  is_refused_[i] = true;
  // Others of its kind that are nominated there may be accepted.
  int others = 0;
  for (std::size_t k = 0; k < seen_.pending.size(); ++k) {
    const bool is_there = seen_.pending[k].pod->nominated_node == node && !is_refused_[k];
    if (is_there && shape_of_[k] == shape_of_[i]) ++others;
  }
  const auto known = std::find_if(
      memory_.avoid.begin(), memory_.avoid.end(), [&](const gang::AvoidedNode& avoided) {
        return avoided.set == set && avoided.node == node && avoided.until > now_;
      });
  if (known == memory_.avoid.end()) {
    avoid_node(memory_.avoid, set, node, others, now_);
  } else {
    known->at_most = std::min(known->at_most, others);
  }
  memory_.refusal = cut_text(fmt::format("kube-scheduler refused {} on node {}: {}", pod.meta.name,
                                         node, pod.unscheduled_message),
                             kMaxMessage);
}

int ForeignWork::priority() const {  // they are sorted by it
  return seen_.pending.empty() ? 0 : seen_.pending.front().pod->priority;
}

queue::Rank ForeignWork::rank() const { return queue::rank(*seen_.group, priority()); }

bool ForeignWork::has_enough_pods() const {
  return static_cast<std::int64_t>(seen_.pending.size()) >= needed();
}

bool ForeignWork::is_paused() const {
  return memory_.failures >= kStartsBeforePause && memory_.not_before > now_;
}

std::int64_t ForeignWork::placed() const {
  return std::count_if(node_.begin(), node_.end(),
                       [](const std::string& node) { return !node.empty(); });
}

std::vector<std::size_t> ForeignWork::unplaced() const {
  std::vector<std::size_t> pods;
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (node_[i].empty()) pods.push_back(i);
  }
  return pods;
}

// ---- placing

void ForeignWork::take(std::size_t pod, std::string node, Ledger& ledger) {
  ledger.take(shapes_[shape_of_[pod]].set, node);
  node_[pod] = std::move(node);
}

void ForeignWork::give_back_all(Ledger& ledger) {
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (!node_[i].empty()) ledger.give_back(shapes_[shape_of_[i]].set, node_[i]);
    node_[i].clear();
  }
}

void ForeignWork::lend(Ledger& ledger) const {
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (!node_[i].empty()) ledger.lend(shapes_[shape_of_[i]].set, node_[i]);
  }
}

void ForeignWork::take_again(Ledger& ledger) const {
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (!node_[i].empty()) ledger.take(shapes_[shape_of_[i]].set, node_[i]);
  }
}

void ForeignWork::yield(Ledger& ledger) {
  give_back_all(ledger);
  is_reserved_ = false;
}

bool ForeignWork::holds_unseen() const {
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (!node_[i].empty() && node_[i] != seen_.pending[i].pod->nominated_node) return true;
  }
  return false;
}

// Is capacity of the pods' nominations free in the ledger that the nodes show as taken?
void ForeignWork::note_dropped(Ledger& ledger) const {
  for (std::size_t i = 0; i < node_.size(); ++i) {
    const auto& nominated = seen_.pending[i].pod->nominated_node;
    if (!nominated.empty() && node_[i] != nominated) return ledger.note_dropped_plan();
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
  for (std::size_t i = 0; i < node_.size() && all_fit; ++i) {
    if (nominated_[i].empty() || is_refused_[i]) continue;
    all_fit = ledger.fits(shapes_[shape_of_[i]].set, nominated_[i]);
    if (all_fit) take(i, nominated_[i], ledger);
  }
  is_reserved_ = all_fit && has_started();
  if (!is_reserved_) give_back_all(ledger);
}

bool ForeignWork::complete(Ledger& ledger) {
  ledger.count_for(priority());
  no_fit_.reset();
  lacking_.clear();
  if (seen_.pending.empty() || !has_enough_pods() || is_paused()) return false;
  if (is_reserved_) return place_extras(ledger);
  if (const auto lacking = lacking_in_total(ledger)) {
    lacking_ = *lacking;
    return false;
  }
  // What still fits stays where it is, if the rest fits beside it.
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (nominated_[i].empty() || is_refused_[i]) continue;
    if (!ledger.fits(shapes_[shape_of_[i]].set, nominated_[i])) continue;
    take(i, nominated_[i], ledger);
  }
  if (!place(unplaced(), ledger) && !place_needed(ledger)) {
    give_back_all(ledger);
    if (!place(unplaced(), ledger) && !place_needed(ledger)) {
      give_back_all(ledger);
      return false;
    }
  }
  place_extras(ledger);
  is_reserved_ = placed() > 0;
  return is_reserved_;
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

bool ForeignWork::place(const std::vector<std::size_t>& pods, Ledger& ledger) {
  if (pods.empty()) return true;
  std::vector<gang::MemberSet> sets(shapes_.size());
  for (std::size_t i = 0; i < shapes_.size(); ++i) sets[i] = shapes_[i].set;
  for (const std::size_t pod : pods) {
    sets[shape_of_[pod]].slots.push_back({static_cast<int>(pod), 0});
  }
  std::erase_if(sets, [](const gang::MemberSet& set) { return set.slots.empty(); });
  std::vector<placement::NodeLimit> limits = collect_node_limits(memory_.avoid, now_);
  for (placement::NodeLimit& limit : limits) {
    for (std::size_t i = 0; i < node_.size(); ++i) {
      const bool is_its = shapes_[shape_of_[i]].set.name == limit.set;
      if (is_its && node_[i] == limit.node) --limit.at_most;
    }
  }
  placement::Plan plan = placement::plan_gang(sets, ledger.nodes(), limits);
  if (auto* no_fit = std::get_if<placement::NoFit>(&plan)) {
    no_fit_ = std::move(*no_fit);
    return false;
  }
  for (placement::Assignment& assigned : std::get<std::vector<placement::Assignment>>(plan)) {
    take(static_cast<std::size_t>(assigned.slot.ordinal), std::move(assigned.node), ledger);
  }
  return true;
}

// minResources includes what the gang already has.
std::optional<std::string> ForeignWork::lacking_in_total(const Ledger& ledger) const {
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
  return fmt::format("minResources asks for {} {} and {} are free", name,
                     kube::format_amount(name, asked.get(name)),
                     kube::format_amount(name, total.get(name)));
}

// ---- decisions

std::string ForeignWork::waiting_text() const {
  if (seen_.pending.empty()) return "";
  if (!has_enough_pods()) {
    const std::int64_t there =
        seen_.counts.started() + static_cast<std::int64_t>(seen_.pending.size());
    return fmt::format("{} of its {} pods exist", there, seen_.group->min_member);
  }
  std::string text;
  if (is_paused()) {
    text = fmt::format("its start has failed {} times; planned again after {}", memory_.failures,
                       to_rfc3339(memory_.not_before));
  } else if (!lacking_.empty()) {
    text = lacking_;
  } else if (no_fit_ && !is_reserved_) {
    text = placement::explain(*no_fit_);
  } else {
    return "";
  }
  return memory_.refusal.empty() ? text : text + "; " + memory_.refusal;
}

// Changed numbers alone cause a new message only once in a while.
void ForeignWork::report(ForeignDecision& out) const {
  ForeignMemory::Gang& memory = out.memory;
  const std::string text = waiting_text();
  if (text.empty() || has_enough_pods()) {
    memory.few_since.reset();
  } else if (!memory.few_since) {
    memory.few_since = now_;
  }
  if (text == memory.message) {
    out.message = text;
    return;
  }
  if (memory.few_since && now_ < *memory.few_since + kFewPods) {
    out.message = memory.message;
    const SysTime due = *memory.few_since + kFewPods;
    out.look_again = out.look_again ? std::min(*out.look_again, due) : due;
    return;
  }
  const bool only_numbers = !text.empty() && !memory.message.empty() && no_fit_ && memory.no_fit &&
                            gang::same_cause(*no_fit_, *memory.no_fit);
  const SysTime due = memory.reported + kMessagePeriod;
  if (only_numbers && now_ < due) {
    out.message = memory.message;
    out.look_again = out.look_again ? std::min(*out.look_again, due) : due;
    return;
  }
  out.message = text;
  out.is_news = true;
  memory.message = text;
  memory.no_fit = is_reserved_ ? std::nullopt : no_fit_;
  memory.reported = now_;
}

ForeignDecision ForeignWork::decide() const {
  ForeignDecision out;
  out.group = seen_.group;
  out.memory = memory_;
  out.placed = placed();
  const auto look_at = [&out](SysTime time) {
    out.look_again = out.look_again ? std::min(*out.look_again, time) : time;
  };
  for (std::size_t i = 0; i < node_.size(); ++i) {
    if (node_[i] == nominated_[i]) continue;
    if (!node_[i].empty() && memory_.not_before > now_) {
      look_at(memory_.not_before);
      continue;
    }
    out.nominations.push_back({seen_.pending[i].pod, node_[i]});
  }
  if (memory_.not_before > now_) look_at(memory_.not_before);
  if (memory_.failed_at) look_at(*memory_.failed_at + kJudgeStart);
  if (no_fit_) {
    if (const auto until = avoided_until(memory_.avoid, now_)) look_at(*until);
  }
  report(out);
  return out;
}

// ---- PodGroup.status

namespace {

std::string_view compute_phase(const kube::ForeignPodGroup& group, const ForeignCounts& counts) {
  const std::int64_t there = counts.pending + counts.bound + counts.succeeded + counts.failed;
  const std::int64_t least = std::max<std::int64_t>(1, group.min_member);
  if (there == 0) {  // what it came to stays when its pods are deleted
    const std::string& before = group.status.phase;
    if (before == kube::kPhaseFinished) return kube::kPhaseFinished;
    return before == kube::kPhaseFailed ? kube::kPhaseFailed : kube::kPhasePending;
  }
  if (counts.succeeded >= least) return kube::kPhaseFinished;
  if (counts.failed > 0 && counts.failed + counts.running + counts.succeeded >= least) {
    return kube::kPhaseFailed;
  }
  if (there < least) return kube::kPhasePending;
  return counts.running + counts.succeeded >= least ? kube::kPhaseRunning : kube::kPhaseScheduling;
}

}  // namespace

kube::ForeignPodGroupStatus foreign_status(const ForeignGangSeen& seen, SysTime now) {
  kube::ForeignPodGroupStatus status = seen.group->status;
  status.phase = compute_phase(*seen.group, seen.counts);
  status.running = seen.counts.running;
  status.succeeded = seen.counts.succeeded;
  status.failed = seen.counts.failed;
  if (status.phase == kube::kPhasePending) return status;
  if (status.occupied_by.empty()) status.occupied_by = seen.owner;
  if (!status.schedule_start_time) {
    status.schedule_start_time = std::chrono::floor<std::chrono::seconds>(now);
  }
  return status;
}

}  // namespace nervex::extender
