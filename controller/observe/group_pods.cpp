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
  return {find_count(by_namespace_, ns), all_};
}

// The store is asked under the lock: the last recount is of its last state.
void GroupPods::recount(const std::string& ns, const std::string& name) {
  const std::string key = ns + "/" + name;
  const MutexLock lock(mutex_);
  const auto stored = groups_.get(key);
  const std::int64_t more = set_count(by_group_, key, stored ? count_pods(stored->spec) : 0);
  all_ += more;
  set_count(by_namespace_, ns, find_count(by_namespace_, ns) + more);
}

}  // namespace nervex::controller
