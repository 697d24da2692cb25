#include "kube/model/share_pool.h"

#include <algorithm>
#include <functional>

namespace nervex::kube {
namespace {

std::size_t mix(std::size_t seed, std::size_t more) {
  return seed ^ (more + 0x9E3779B97F4A7C15ULL + (seed << 6) + (seed >> 2));
}

std::size_t compute_hash(const std::string& text) { return std::hash<std::string>()(text); }
std::size_t compute_hash(const OwnerRef& owner) { return compute_hash(owner.uid); }
std::size_t compute_hash(const ResourceAmount& amount) {
  return mix(compute_hash(amount.name), std::hash<std::int64_t>()(amount.amount));
}
std::size_t compute_hash(const ContainerState& state) {
  return mix(compute_hash(state.name), compute_hash(state.reason));
}
std::size_t compute_hash(const StringMap::Entry& entry) {
  return mix(compute_hash(entry.first.str()), compute_hash(entry.second.str()));
}
std::size_t compute_hash(const Taint& taint) {
  return mix(compute_hash(taint.key), compute_hash(taint.value));
}

template <typename T>
std::size_t compute_hash(const std::vector<T>& items) {
  std::size_t seed = items.size();
  for (const T& item : items) seed = mix(seed, compute_hash(item));
  return seed;
}

}  // namespace

template <typename T>
std::size_t SharePool::Kind<T>::Hash::operator()(const Shared<T>& value) const {
  return compute_hash(*value);
}

template <typename T>
void SharePool::Kind<T>::share(Shared<T>& value) {
  if (!value) return;
  const auto [known, is_new] = known_.insert(value);
  if (!is_new) {
    value = *known;
  } else if (known_.size() >= next_sweep_) {
    let_go();
  }
}

// Safe: a block is copied only by its holders, and the pool is the only one here.
template <typename T>
void SharePool::Kind<T>::let_go() {
  std::erase_if(known_, [](const Shared<T>& value) { return value.is_only(); });
  next_sweep_ = std::max(kFirstSweep, 2 * known_.size());
}

void SharePool::share(StringMap& map) {
  if (map.empty()) return;
  auto& entries = map.entries_.edit();
  for (auto& [key, text] : entries) {
    share(key);
    share(text);
  }
  entries.shrink_to_fit();
}

void SharePool::share(Pod& pod) {
  share(pod.meta.ns);
  owners_.share(pod.meta.owner);
  share(pod.meta.labels);
  label_sets_.share(pod.meta.labels.entries_.items_);  // pods of a role have equal labels
  share(pod.meta.annotations);
  share(pod.scheduler_name);
  share(pod.node);
  share(pod.nominated_node);
  share(pod.reason);
  share(pod.message);
  share(pod.disruption_reason);
  share(pod.node_lost);
  share(pod.unscheduled_message);
  share(pod.unscheduled_reason);
  containers_.share(pod.containers.items_);
  amounts_.share(pod.requests.amounts_.items_);
}

void SharePool::share(Node& node) {
  share(node.labels);
  taints_.share(node.taints.items_);
  amounts_.share(node.allocatable.amounts_.items_);
}

std::size_t SharePool::size() const {
  return texts_.size() + owners_.size() + amounts_.size() + containers_.size() + taints_.size() +
         label_sets_.size();
}

}  // namespace nervex::kube
