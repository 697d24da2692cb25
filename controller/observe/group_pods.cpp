#include "controller/observe/group_pods.h"

#include "controller/decide/objects/pod_group.h"

namespace nervex::controller {
namespace {

using Counts = std::unordered_map<std::string, std::int64_t>;

// Returns the difference.
std::int64_t set_count(Counts& counts, const std::string& key, std::int64_t pods) {
  const auto at = counts.find(key);
  const std::int64_t before = at == counts.end() ? 0 : at->second;
  if (pods != 0) {
    counts[key] = pods;
  } else if (at != counts.end()) {
    counts.erase(at);
  }
  return pods - before;
}

std::int64_t find_count(const Counts& counts, const std::string& key) {
  const auto at = counts.find(key);
  return at == counts.end() ? 0 : at->second;
}

}  // namespace

GroupPodCount GroupPods::count(const std::string& ns) const {
  const MutexLock lock(mutex_);
  return count_locked(ns);
}

GroupPodCount GroupPods::count_locked(const std::string& ns) const {
  return {find_count(by_namespace_, ns), all_, max_of_namespace_};
}

void GroupPods::set(const std::string& ns, const std::string& key, std::int64_t pods) {
  const std::int64_t more = set_count(by_group_, key, pods);
  all_ += more;
  set_count(by_namespace_, ns, find_count(by_namespace_, ns) + more);
}

Result<Nothing> GroupPods::claim(const std::string& ns, const std::string& name,
                                 std::int64_t pods) {
  const std::string key = ns + "/" + name;
  const MutexLock lock(mutex_);
  const std::int64_t more = pods - find_count(by_group_, key);
  if (more > 0 && !count_locked(ns).has_space(more)) {
    return Error{Code::kTransient, "other jobs of namespace " + ns + " got its last pods"};
  }
  set(ns, key, pods);
  return ok();
}

// The store is asked under the lock: the last recount is of its last state.
void GroupPods::recount(const std::string& ns, const std::string& name) {
  const std::string key = ns + "/" + name;
  const MutexLock lock(mutex_);
  const auto stored = groups_.get(key);
  set(ns, key, stored ? count_pods(stored->spec) : 0);
}

}  // namespace nervex::controller
