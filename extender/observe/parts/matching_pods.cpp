#include "extender/observe/parts/matching_pods.h"

#include <algorithm>
#include <utility>

namespace nervex::extender {
namespace {

bool may_count(const kube::Pod& pod) { return pod.occupies() && !pod.meta.deleting; }

}  // namespace

MatchingPods::Mask MatchingPods::find_matching(const Namespace& ns, const kube::Pod& pod) {
  Mask mask;
  for (std::size_t i = 0; i < ns.counters.size(); ++i) {
    const Counter& counter = ns.counters[i];
    mask[i] = counter.owners > 0 && kube::matches(counter.selector, pod.meta.labels);
  }
  return mask;
}

kube::Resources MatchingPods::make_amounts(const Namespace& ns, const Mask& mask) {
  kube::Resources amounts;
  for (std::size_t i = 0; i < ns.counters.size(); ++i) {
    if (mask[i]) amounts.set(ns.counters[i].pods.counter, 1);
  }
  return amounts;
}

void MatchingPods::set_selectors(const std::string& owner,
                                 std::vector<kube::PodSelector> selectors) {
  const auto known = by_owner_.find(owner);
  if (known == by_owner_.end() ? selectors.empty() : known->second == selectors) return;
  std::erase_if(selectors, [this](const auto& pods) { return !add(pods); });
  if (known != by_owner_.end()) {
    for (const kube::PodSelector& pods : known->second) remove(pods);
    by_owner_.erase(known);
  }
  if (!selectors.empty()) by_owner_.emplace(owner, std::move(selectors));
}

bool MatchingPods::add(const kube::PodSelector& pods) {
  auto selector = kube::decode_selector(pods);
  if (!selector) return false;
  Namespace& ns = by_namespace_[pods.ns];
  auto& counters = ns.counters;
  auto at = std::find_if(counters.begin(), counters.end(),
                         [&](const Counter& one) { return one.owners > 0 && one.pods == pods; });
  const bool is_new = at == counters.end();
  if (is_new) {
    at = std::find_if(counters.begin(), counters.end(),
                      [](const Counter& one) { return one.owners == 0; });
  }
  if (at == counters.end()) return false;
  ++at->owners;
  if (!is_new) return true;
  ++ns.selectors;
  at->pods = pods;
  at->selector = *std::move(selector);
  const auto index = static_cast<std::size_t>(at - counters.begin());
  for (const kube::PodPtr& pod : pods_.all()) {
    if (pod->meta.ns != pods.ns || !may_count(*pod)) continue;
    if (!kube::matches(at->selector, pod->meta.labels)) continue;
    const auto known = ns.pods.find(pod->meta.uid);
    Mask mask = known == ns.pods.end() ? Mask() : known->second.in;
    mask[index] = true;
    set(ns, pod->meta.uid, {pod->node, mask});
  }
  return true;
}

void MatchingPods::remove(const kube::PodSelector& pods) {
  const auto found = by_namespace_.find(pods.ns);
  if (found == by_namespace_.end()) return;
  Namespace& ns = found->second;
  const auto at = std::find_if(ns.counters.begin(), ns.counters.end(), [&](const Counter& one) {
    return one.owners > 0 && one.pods == pods;
  });
  if (at == ns.counters.end() || --at->owners > 0) return;
  const auto index = static_cast<std::size_t>(at - ns.counters.begin());
  const kube::Resources one{{pods.counter, 1}};
  for (auto pod = ns.pods.begin(); pod != ns.pods.end();) {
    if (pod->second.in[index]) nodes_.stop_using(pod->second.node, one);
    pod->second.in[index] = false;
    pod = pod->second.in.none() ? ns.pods.erase(pod) : std::next(pod);
  }
  *at = {};
  if (--ns.selectors == 0) by_namespace_.erase(found);
}

bool MatchingPods::set(Namespace& ns, const std::string& uid, const Counted& now) {
  const auto known = ns.pods.find(uid);
  const bool was = known != ns.pods.end();
  if (was ? known->second.node == now.node && known->second.in == now.in : now.in.none()) {
    return false;
  }
  if (was) nodes_.stop_using(known->second.node, make_amounts(ns, known->second.in));
  if (now.in.any()) {
    nodes_.use(now.node, make_amounts(ns, now.in));
    ns.pods.insert_or_assign(uid, now);
  } else if (was) {
    ns.pods.erase(known);
  }
  return true;
}

bool MatchingPods::pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
  const auto found = by_namespace_.find((after ? after : before)->meta.ns.str());
  if (found == by_namespace_.end()) return false;
  Namespace& ns = found->second;
  bool has_changed = false;
  const bool is_gone = before && (!after || before->meta.uid != after->meta.uid);
  if (is_gone) has_changed = set(ns, before->meta.uid, {});
  if (!after) return has_changed;
  const Mask mask = may_count(*after) ? find_matching(ns, *after) : Mask();
  return set(ns, after->meta.uid, {after->node, mask}) || has_changed;
}

kube::Resources MatchingPods::list_use(const kube::Pod& pod) const {
  kube::Resources use = pod.requests;
  const auto ns = by_namespace_.find(pod.meta.ns.str());
  if (ns != by_namespace_.end()) use += make_amounts(ns->second, find_matching(ns->second, pod));
  return use;
}

}  // namespace nervex::extender
