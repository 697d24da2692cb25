#include "extender/act/lost_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "gang/outage_tolerations.h"
#include "gang/slot.h"
#include "kube/model/node.h"
#include "kube/pod_condition.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMarkRetry{1'000};
constexpr milliseconds kLongestMarkRetry{30'000};
// Limits of one call, as the same thread makes plans.
constexpr int kMostMarks = 100;
constexpr milliseconds kLongestCall{1'000};
// A replica that does not lead marks nothing. It remembers a deleted node while the leader may not
// have marked the pods there.
constexpr milliseconds kRememberDeleted{600'000};
// As in kube-controller-manager: --unhealthy-zone-threshold.
constexpr std::size_t kFewNodes = 2;
constexpr std::size_t kMostPercent = 55;

// Finished pods need no successor, but a terminating one waits for its kubelet, too.
bool needs_mark(const kube::Pod& pod) {
  return pod.node_lost.empty() && (!pod.is_finished() || pod.meta.deleting);
}

std::string text_about(const kube::NodePtr& node) {
  if (!node) return "deleted";
  if (node->ready_changed == SysTime{}) return "not Ready";
  return "not Ready since " + to_rfc3339(node->ready_changed);
}

bool is_of_gang(const kube::Pod& pod) {
  return !kube::annotation(pod.meta, gang::kPodGroupUidAnnotation).empty();
}

}  // namespace

void LostNodes::node_changed(const kube::NodePtr& before, const kube::NodePtr& after) {
  if (limit_.count() == 0 || (!before && !after)) return;
  const std::string& name = after ? after->name : before->name;
  MutexLock lock(mutex_);
  if (after && after->ready) {
    outages_.erase(name);
    return;
  }
  Outage& outage = outages_.try_emplace(name, Outage{clock_.mono(), "", {}}).first->second;
  outage.text = text_about(after);
  outage.look_at = outage.since + limit_;
  if (!after) forget_deleted_nodes();
}

// The leader forgets them after their pods are marked.
void LostNodes::forget_deleted_nodes() {
  if (has_looked_) return;
  const MonoTime oldest = clock_.mono() - limit_ - kRememberDeleted;
  std::erase_if(outages_, [&](const auto& outage) {
    return outage.second.since < oldest && nodes_.get(outage.first) == nullptr;
  });
}

bool LostNodes::pod_changed(const kube::PodPtr& after) {
  if (!after || after->node.empty() || !is_of_gang(*after)) return false;
  MutexLock lock(mutex_);
  const auto outage = outages_.find(after->node.str());
  if (outage == outages_.end()) return false;
  outage->second.look_at = outage->second.since + limit_;
  return true;
}

void LostNodes::note_unknown_nodes() {
  std::set<std::string> names;
  for (const auto& pod : pods_.all()) {
    const std::string& node = pod->node;
    if (!node.empty() && is_of_gang(*pod) && nodes_.get(node) == nullptr) names.insert(node);
  }
  MutexLock lock(mutex_);
  for (const std::string& name : names) {
    const MonoTime now = clock_.mono();
    outages_.try_emplace(name, Outage{now, text_about(nullptr), now + limit_});
  }
}

std::map<std::string, LostNodes::Outage> LostNodes::outages() const {
  MutexLock lock(mutex_);
  return outages_;
}

bool LostNodes::is_disruption(const std::map<std::string, Outage>& outages) const {
  std::size_t away = 0;
  for (const auto& [node, outage] : outages) away += nodes_.get(node) != nullptr ? 1 : 0;
  const std::size_t all = nodes_.size();
  const bool are_most = away > kFewNodes && away * 100 >= all * kMostPercent;
  return away > 0 && (away == all || are_most);
}

void LostNodes::restart() {
  MutexLock lock(mutex_);
  for (auto& [node, outage] : outages_) {
    if (nodes_.get(node) == nullptr) continue;
    outage.since = clock_.mono();
    if (outage.look_at) outage.look_at = outage.since + limit_;
  }
}

// Names of deleted nodes may never come again.
void LostNodes::set_done(const std::string& node) {
  const bool is_deleted = nodes_.get(node) == nullptr;
  MutexLock lock(mutex_);
  const auto outage = outages_.find(node);
  if (outage == outages_.end()) return;
  outage->second.look_at.reset();
  if (is_deleted) outages_.erase(outage);
}

void LostNodes::look_later(const std::string& node, MonoTime at) {
  MutexLock lock(mutex_);
  const auto outage = outages_.find(node);
  if (outage == outages_.end()) return;
  auto& look_at = outage->second.look_at;
  look_at = look_at ? std::min(*look_at, at) : at;
}

std::optional<milliseconds> LostNodes::limit_for(const kube::Pod& pod) const {
  const auto node = nodes_.get(pod.node.str());
  const auto tolerated = node ? gang::tolerated_outage(pod, *node) : std::nullopt;
  if (tolerated == std::chrono::seconds::max()) return std::nullopt;
  return tolerated ? std::max<milliseconds>(limit_, *tolerated) : limit_;
}

std::optional<milliseconds> LostNodes::mark_pods() {
  if (limit_.count() == 0) return std::nullopt;
  if (!has_looked_.exchange(true)) note_unknown_nodes();
  std::optional<milliseconds> again;
  const auto look_after = [&again](milliseconds delay) {
    if (!again || delay < *again) again = delay;
  };
  std::map<std::string, std::vector<kube::PodPtr>, std::less<>> lost;  // pods to mark, by node
  const bool is_over = was_disruption_ && !is_disruption(outages());
  if (was_disruption_) restart();
  const auto known = outages();
  if (!was_disruption_ && is_disruption(known)) {
    log_warn("many nodes are not Ready, pods on them are left alone",
             {{"nodes", std::to_string(known.size())}, {"of", std::to_string(nodes_.size())}});
    was_disruption_ = true;
  } else if (is_over) {
    log_info("most nodes are Ready again", {{"not_ready", std::to_string(known.size())}});
    was_disruption_ = false;
  }
  for (const auto& [node, outage] : known) {
    if (was_disruption_ && nodes_.get(node) != nullptr) continue;
    if (!outage.look_at) continue;
    const auto due = *outage.look_at - clock_.mono();
    if (due > due.zero()) {
      look_after(std::chrono::ceil<milliseconds>(due));
    } else {
      lost[node];
    }
  }
  if (lost.empty()) return again;
  if (const auto pause = paused_until_ - clock_.mono(); pause > pause.zero()) {
    look_after(std::chrono::ceil<milliseconds>(pause));
    return again;
  }
  // Before the look, so that a pod that comes meanwhile causes another look.
  for (const auto& [node, pods] : lost) set_done(node);
  for (const kube::PodPtr& pod : pods_.all()) {
    const auto at = lost.find(pod->node.str());
    if (at == lost.end() || !is_of_gang(*pod) || !needs_mark(*pod)) continue;
    const auto limit = limit_for(*pod);
    if (!limit) continue;
    const MonoTime lost_at = known.at(at->first).since + *limit;
    const auto due = lost_at - clock_.mono();
    if (due > due.zero()) {
      look_later(at->first, lost_at);
      look_after(std::chrono::ceil<milliseconds>(due));
    } else {
      at->second.push_back(pod);
    }
  }
  Budget budget{kMostMarks, clock_.mono() + kLongestCall};
  bool has_failed = false;
  bool is_in_part = false;
  const auto mark_on = [&](const std::string& node, const std::vector<kube::PodPtr>& pods) {
    if (pods.empty()) return;
    const Outage& outage = known.at(node);
    const Marked marked = mark_all(node, outage, pods, budget);
    has_failed = has_failed || marked == Marked::kFailed;
    is_in_part = is_in_part || marked == Marked::kInPart;
    if (marked != Marked::kAll) set_not_done(node, outage);
  };
  // Round robin, so that a node whose marks fail slowly does not take all the time.
  const auto first = lost.upper_bound(last_tried_);
  for (auto at = first; at != lost.end(); ++at) mark_on(at->first, at->second);
  for (auto at = lost.begin(); at != first; ++at) mark_on(at->first, at->second);
  failures_ = has_failed ? failures_ + 1 : 0;
  const milliseconds pause = backoff_delay(kMarkRetry, failures_ - 1, kLongestMarkRetry);
  if (has_failed) paused_until_ = clock_.mono() + pause;
  if (has_failed || is_in_part) look_after(pause);
  return again;
}

void LostNodes::set_not_done(const std::string& node, Outage outage) {
  outage.look_at = outage.since + limit_;
  const bool is_there = nodes_.get(node) != nullptr;
  MutexLock lock(mutex_);
  const auto known = outages_.find(node);
  if (known != outages_.end()) {
    known->second.look_at = outage.look_at;
  } else if (!is_there) {  // set_done() has forgotten it; a node that is back starts again
    outages_.emplace(node, std::move(outage));
  }
}

LostNodes::Marked LostNodes::mark_all(const std::string& node, const Outage& outage,
                                      const std::vector<kube::PodPtr>& pods, Budget& budget) {
  const auto is_spent = [&] { return budget.marks <= 0 || clock_.mono() >= budget.until; };
  if (is_spent()) return Marked::kInPart;
  last_tried_ = node;
  const auto away = is_away(node);
  if (!away) {
    log_warn("lost node not read", {{"node", node}, {"error", away.error().message}});
    return Marked::kFailed;
  }
  if (!*away) return Marked::kAll;  // the watch will tell
  log_warn("node lost",
           {{"node", node}, {"state", outage.text}, {"pods", std::to_string(pods.size())}});
  Marked all = Marked::kAll;
  for (const kube::PodPtr& pod : pods) {
    if (is_spent()) return all == Marked::kFailed ? all : Marked::kInPart;
    --budget.marks;
    const auto marked = mark(*pod, outage.text);
    if (marked) continue;
    all = Marked::kFailed;  // continue with the others
    log_warn("pod on lost node not marked",
             {{"pod", pod->meta.key()}, {"error", marked.error().message}});
  }
  return all;
}

Result<bool> LostNodes::is_away(const std::string& name) {
  const auto live = kube::get_object(api_, kube::kNodes, "", name);
  if (!live) {
    if (live.error().code == Code::kNotFound) return true;
    return live.error();
  }
  const auto node = kube::decode_node(kube::to_text(*live));
  if (!node) return node.error();
  return !node->ready;
}

Result<Nothing> LostNodes::mark(const kube::Pod& pod, const std::string& message) {
  return kube::set_pod_condition(api_, {pod.meta.ns.str(), pod.meta.name, pod.meta.uid},
                                 {{"type", kube::kNodeLostCondition},
                                  {"status", "True"},
                                  {"reason", "NodeLost"},
                                  {"message", message},
                                  {"lastTransitionTime", to_rfc3339(clock_.now())}});
}

}  // namespace nervex::extender
