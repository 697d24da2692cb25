// FakeApi's deletions: immediate, graceful, and of dependants.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_rules.h"

namespace nervex::testing {
namespace {

using kube::array_at;
using kube::find;
using kube::int_at;
using kube::string_at;

constexpr const char* kForeground = "foregroundDeletion";

bool is_bound_and_unfinished(const Json& pod) {
  const std::string phase = string_at(pod, {"status", "phase"});
  return !string_at(pod, {"spec", "nodeName"}).empty() && phase != "Succeeded" && phase != "Failed";
}

bool is_leaving(const Json& object) {
  return find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool is_owned_by(const Json& object, const std::string& uid) {
  const Json& owners = array_at(object, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(),
                     [&](const Json& owner) { return string_at(owner, {"uid"}) == uid; });
}

bool waits_for_dependants(const Json& object) {
  const Json& finalizers = array_at(object, {"metadata", "finalizers"});
  return is_leaving(object) && std::count(finalizers.begin(), finalizers.end(), kForeground) > 0;
}

void erase_where(Json& list, const std::function<bool(const Json&)>& matches) {
  list.erase(std::remove_if(list.begin(), list.end(), matches), list.end());
}

}  // namespace

Result<Json> FakeApi::handle_delete(const FakePath& path, const Json& options) {
  if (path.name.empty()) return refuse(405, "MethodNotAllowed", "no delete of collections");
  const Json* stored = object_at(path);
  if (stored == nullptr) return not_found(path);
  const Json* wanted = find(options, {"preconditions"});
  if (auto error = check_identity(path, wanted == nullptr ? Json() : *wanted, *stored)) {
    return *error;
  }
  if (is_dry_run(path) || !array_at(options, {"dryRun"}).empty()) return *stored;
  Json last = *stored;
  const std::string policy = string_at(options, {"propagationPolicy"}, "Background");
  if (policy == "Orphan") orphan_dependants(object_uid(last));
  if (policy == "Foreground") last["metadata"]["finalizers"].push_back(kForeground);
  const std::int64_t asked = int_at(options, {"gracePeriodSeconds"}, 30);
  const bool is_slow =
      slow_termination_ && path.plural == "pods" && is_bound_and_unfinished(last) && asked > 0;
  const bool is_held = !array_at(last, {"metadata", "finalizers"}).empty();
  if (is_slow || is_held) {
    const int grace = is_slow ? static_cast<int>(asked) : 0;
    const bool is_sooner =
        grace < int_at(last, {"metadata", "deletionGracePeriodSeconds"}, grace + 1);
    if (is_leaving(last) && !is_sooner) return *stored;
    mark_deleted(last, grace);
    return store_changed(path, std::move(last));
  }
  erase(path);
  return last;
}

// As the API server does it: the timestamp is when the time is up, counted from the first request.
void FakeApi::mark_deleted(Json& object, int grace_seconds) const {
  const auto before = parse_rfc3339(string_at(object, {"metadata", "deletionTimestamp"}));
  const auto grace =
      std::chrono::seconds(int_at(object, {"metadata", "deletionGracePeriodSeconds"}));
  const SysTime asked = before ? *before - grace : *parse_rfc3339(timestamp());
  object["metadata"]["deletionGracePeriodSeconds"] = grace_seconds;
  object["metadata"]["deletionTimestamp"] = to_rfc3339(asked + std::chrono::seconds(grace_seconds));
}

bool FakeApi::end_termination(std::string_view ns, std::string_view name) {
  std::unique_lock lock(mutex_);
  const FakePath path = parse_path(kube::api_path(kube::kPods, ns, name));
  const Json* stored = object_at(path);
  if (stored == nullptr || !is_leaving(*stored)) return false;
  if (is_bound_and_unfinished(*stored)) {
    Json ended = *stored;
    ended["status"]["phase"] = "Failed";
    ended["status"].erase("conditions");
    store_changed(path, std::move(ended));
  }
  (void)handle_delete(path, {{"gracePeriodSeconds", 0}});
  return true;
}

// ---- dependants

std::vector<FakePath> FakeApi::find_dependants(const std::string& uid) const {
  std::vector<FakePath> found;
  for (const auto& [name, collection] : objects_) {
    for (const auto& [key, object] : collection) {
      if (is_owned_by(object, uid)) found.push_back(make_fake_path(name, key));
    }
  }
  return found;
}

void FakeApi::orphan_dependants(const std::string& uid) {
  for (const FakePath& path : find_dependants(uid)) {
    Json after = *object_at(path);
    erase_where(after["metadata"]["ownerReferences"],
                [&](const Json& owner) { return string_at(owner, {"uid"}) == uid; });
    store_changed(path, std::move(after));
  }
}

int FakeApi::collect_garbage() {
  std::unique_lock lock(mutex_);
  int deleted = 0;
  for (;;) {
    const int more = collect_orphans() + end_foreground_deletions();
    if (more == 0) return deleted;
    deleted += more;
  }
}

int FakeApi::collect_orphans() {
  std::set<std::string> uids;
  for (const auto& [name, collection] : objects_) {
    for (const auto& [key, object] : collection) uids.insert(object_uid(object));
  }
  std::vector<FakePath> orphans;
  for (const auto& [name, collection] : objects_) {
    for (const auto& [key, object] : collection) {
      const Json& owners = array_at(object, {"metadata", "ownerReferences"});
      const bool has_owner =
          owners.empty() || std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
            return uids.count(string_at(owner, {"uid"})) != 0;
          });
      if (!has_owner) orphans.push_back(make_fake_path(name, key));
    }
  }
  int deleted = 0;
  for (const auto& orphan : orphans) {
    Json last = *object_at(orphan);
    const bool is_held = !array_at(last, {"metadata", "finalizers"}).empty();
    if (is_held && is_leaving(last)) continue;
    ++deleted;
    if (is_held) {
      mark_deleted(last, 0);
      store_changed(orphan, std::move(last));
    } else {
      erase(orphan);
    }
  }
  return deleted;
}

int FakeApi::end_foreground_deletions() {
  std::vector<FakePath> leaving;
  for (const auto& [name, collection] : objects_) {
    for (const auto& [key, object] : collection) {
      if (waits_for_dependants(object)) leaving.push_back(make_fake_path(name, key));
    }
  }
  int deleted = 0;
  for (const FakePath& path : leaving) {
    const auto dependants = find_dependants(object_uid(*object_at(path)));
    for (const FakePath& dependant : dependants) erase(dependant);
    Json after = *object_at(path);
    erase_where(after["metadata"]["finalizers"],
                [](const Json& finalizer) { return finalizer == kForeground; });
    store_changed(path, std::move(after));  // ends it, if nothing else holds it
    deleted += static_cast<int>(dependants.size()) + (object_at(path) == nullptr ? 1 : 0);
  }
  return deleted;
}

}  // namespace nervex::testing
