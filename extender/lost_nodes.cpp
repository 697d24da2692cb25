#include "extender/lost_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "gang/slot.h"
#include "kube/model/node.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{1'000};
constexpr int kMostMarks = 100;  // in one call: plans are made by the same thread

// Finished ones need no successor; but one that is being deleted waits for its kubelet, too.
bool needs_mark(const kube::Pod& pod) {
  return pod.node_lost.empty() && (!pod.is_finished() || pod.meta.deleting);
}

std::string text_about(const NodePtr& node) {
  if (!node) return "deleted";
  if (node->ready_changed == SysTime{}) return "not Ready";
  return "not Ready since " + to_rfc3339(node->ready_changed);
}

}  // namespace

std::string node_of_gang_pod(const kube::Pod& pod) {
  return gang::slot_of(pod) ? pod.node.str() : "";
}

void LostNodes::node_changed(const NodePtr& before, const NodePtr& after) {
  if (limit_.count() == 0 || (!before && !after)) return;
  const std::string& name = after ? after->name : before->name;
  MutexLock lock(mutex_);
  if (after && after->ready) {
    outages_.erase(name);
    return;
  }
  Outage& outage = outages_.try_emplace(name, Outage{clock_.mono(), ""}).first->second;
  outage.text = text_about(after);
}

void LostNodes::note_unknown_nodes() {
  std::set<std::string> names;
  for (const auto& pod : pods_.all()) {
    const std::string node = node_of_gang_pod(*pod);
    if (!node.empty() && nodes_.get(node) == nullptr) names.insert(node);
  }
  MutexLock lock(mutex_);
  for (const std::string& name : names) {
    outages_.try_emplace(name, Outage{clock_.mono(), text_about(nullptr)});
  }
}

std::map<std::string, LostNodes::Outage> LostNodes::outages() const {
  MutexLock lock(mutex_);
  return outages_;
}

void LostNodes::forget(const std::string& node) {
  MutexLock lock(mutex_);
  outages_.erase(node);
}

std::optional<milliseconds> LostNodes::mark_pods() {
  if (limit_.count() == 0) return std::nullopt;
  if (!std::exchange(has_looked_, true)) note_unknown_nodes();
  std::optional<milliseconds> again;
  const auto look_after = [&again](milliseconds delay) {
    if (!again || delay < *again) again = delay;
  };
  int left = kMostMarks;
  for (const auto& [node, outage] : outages()) {
    const auto due = outage.since + limit_ - clock_.mono();
    if (due > due.zero()) {
      look_after(std::chrono::ceil<milliseconds>(due));
    } else if (!mark_pods_of(node, outage, left)) {
      look_after(kRetry);
    }
  }
  return again;
}

bool LostNodes::mark_pods_of(const std::string& node, const Outage& outage, int& left) {
  auto pods = pods_.by_index(node);
  // Names of deleted nodes may never come again.
  if (pods.empty() && nodes_.get(node) == nullptr) forget(node);
  std::erase_if(pods, [](const auto& pod) { return !needs_mark(*pod); });
  if (pods.empty()) return true;
  const auto away = is_away(node);
  if (!away) {
    log_warn("lost node not read", {{"node", node}, {"error", away.error().message}});
    return false;
  }
  if (!*away) return true;  // the watch will tell
  log_warn("node lost",
           {{"node", node}, {"state", outage.text}, {"pods", std::to_string(pods.size())}});
  for (const auto& pod : pods) {
    if (left-- <= 0) return false;
    const auto marked = mark(*pod, outage.text);
    if (marked) continue;
    log_warn("pod on lost node not marked",
             {{"pod", pod->meta.key()}, {"error", marked.error().message}});
    return false;
  }
  return true;
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

// Conditional on the version that was read: conditions are one list to a merge patch.
Result<Nothing> LostNodes::mark(const kube::Pod& pod, const std::string& message) {
  const auto live = kube::get_object(api_, kube::kPods, pod.meta.ns, pod.meta.name);
  if (!live) return live.error().code == Code::kNotFound ? ok() : live.error();
  const kube::Meta meta = kube::decode_meta(*live);
  if (meta.uid != pod.meta.uid) return ok();
  Json conditions = kube::array_at(*live, {"status", "conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const auto is_ours = [](const Json& condition) {
    return kube::string_at(condition, {"type"}) == kube::kNodeLostCondition;
  };
  conditions.erase(std::remove_if(conditions.begin(), conditions.end(), is_ours), conditions.end());
  conditions.push_back({{"type", kube::kNodeLostCondition},
                        {"status", "True"},
                        {"reason", "NodeLost"},
                        {"message", message},
                        {"lastTransitionTime", to_rfc3339(clock_.now())}});
  const Json patch{{"metadata", {{"uid", meta.uid}, {"resourceVersion", meta.resource_version}}},
                   {"status", {{"conditions", std::move(conditions)}}}};
  const auto written =
      kube::merge_patch(api_, kube::kPods, pod.meta.ns, pod.meta.name, patch, "status");
  if (!written && written.error().code != Code::kNotFound) return written.error();
  return ok();
}

}  // namespace nervex::extender
