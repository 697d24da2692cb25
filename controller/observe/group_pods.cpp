#include "controller/observe/group_pods.h"

#include <algorithm>

#include "controller/decide/objects/pod_group.h"

namespace nervex::controller {

GroupPodCount GroupPods::count(const std::string& ns) const {
  const MutexLock lock(mutex_);
  return count_locked(ns);
}

GroupPodCount GroupPods::count_locked(const std::string& ns) const {
  const auto at = by_namespace_.find(ns);
  return {at == by_namespace_.end() ? 0 : at->second, all_, max_of_namespace_};
}

GroupPods::Pods GroupPods::find(const std::string& ns, const std::string& name) const {
  const auto at = by_group_.find(ns + "/" + name);
  return at == by_group_.end() ? Pods{} : at->second;
}

void GroupPods::set(const std::string& ns, const std::string& name, Pods pods) {
  const std::int64_t more = pods.counted() - find(ns, name).counted();
  const std::string key = ns + "/" + name;
  if (pods.counted() == 0) {
    by_group_.erase(key);
  } else {
    by_group_[key] = pods;
  }
  all_ += more;
  std::int64_t& of_namespace = by_namespace_[ns];
  of_namespace += more;
  if (of_namespace == 0) by_namespace_.erase(ns);
}

Result<GroupPods::Claim> GroupPods::claim(const std::string& ns, const std::string& name,
                                          std::int64_t pods, bool must) {
  const MutexLock lock(mutex_);
  const Pods before = find(ns, name);
  const std::int64_t more = pods - before.counted();
  if (!must && more > 0 && !count_locked(ns).has_space(more)) {
    return Error{Code::kTransient, "other jobs of namespace " + ns + " got its last pods"};
  }
  set(ns, name, {before.stored, pods});
  return Claim(*this, ns, name);
}

void GroupPods::set_claimed(const std::string& ns, const std::string& name, std::int64_t pods) {
  const MutexLock lock(mutex_);
  set(ns, name, {find(ns, name).stored, pods});
}

// The store is asked under the lock: the last recount is of its last state.
void GroupPods::recount(const std::string& ns, const std::string& name) {
  const MutexLock lock(mutex_);
  const auto stored = groups_.get(ns + "/" + name);
  set(ns, name, {stored ? count_pods(stored->spec) : 0, find(ns, name).claimed});
}

}  // namespace nervex::controller
