// FakeApi's controls for the test: objects, faults, and the requests so far.
#include "base/error.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {

using kube::string_at;

// ---- the test's own hand

Json FakeApi::add(const kube::ResourceKind& kind, std::string_view ns, Json object) {
  std::unique_lock lock(mutex_);
  const std::string name = string_at(object, {"metadata", "name"});
  const FakePath path = parse_path(kube::api_path(kind, ns, name));
  NERVEX_CHECK(!name.empty() && object_at(path) == nullptr);
  return store_new(path, std::move(object));
}

Json FakeApi::change(const kube::ResourceKind& kind, std::string_view ns, std::string_view name,
                     const Json& patch) {
  std::unique_lock lock(mutex_);
  const FakePath path = parse_path(kube::api_path(kind, ns, name));
  const Json* stored = object_at(path);
  if (stored == nullptr) return {};
  Json after = *stored;
  after.merge_patch(patch);
  return after == *stored ? after : store_changed(path, std::move(after));
}

bool FakeApi::remove(const kube::ResourceKind& kind, std::string_view ns, std::string_view name) {
  std::unique_lock lock(mutex_);
  const FakePath path = parse_path(kube::api_path(kind, ns, name));
  if (object_at(path) == nullptr) return false;
  erase(path);
  return true;
}

Json FakeApi::get(const kube::ResourceKind& kind, std::string_view ns,
                  std::string_view name) const {
  std::unique_lock lock(mutex_);
  const Json* stored = object_at(parse_path(kube::api_path(kind, ns, name)));
  return stored == nullptr ? Json() : *stored;
}

std::vector<Json> FakeApi::list(const kube::ResourceKind& kind, std::string_view ns) const {
  std::unique_lock lock(mutex_);
  std::vector<Json> found;
  const FakePath path = parse_path(kube::api_path(kind, ns));
  const auto collection = objects_.find(path.collection);
  if (collection == objects_.end()) return found;
  for (const auto& [key, object] : collection->second) {
    if (is_selected(path, object)) found.push_back(object);
  }
  return found;
}

void FakeApi::each(const kube::ResourceKind& kind,
                   const std::function<void(const Json&)>& look) const {
  std::unique_lock lock(mutex_);
  const auto collection = objects_.find(parse_path(kube::api_path(kind)).collection);
  if (collection == objects_.end()) return;
  for (const auto& [key, object] : collection->second) look(object);
}

std::int64_t FakeApi::resource_version() const {
  std::unique_lock lock(mutex_);
  return version_;
}

void FakeApi::terminate_pods_slowly() {
  std::unique_lock lock(mutex_);
  slow_termination_ = true;
}

void FakeApi::serve(const std::string& path, std::string body) {
  std::unique_lock lock(mutex_);
  served_[path] = std::move(body);
}

void FakeApi::answer(const std::string& plural,
                     std::function<Result<Json>(const Json& body)> reply) {
  std::unique_lock lock(mutex_);
  answers_[plural] = std::move(reply);
}

void FakeApi::review_access(std::function<bool(const Json& attributes)> is_allowed) {
  answer("selfsubjectaccessreviews", [rule = std::move(is_allowed)](const Json& review) {
    const Json* attributes = kube::find(review, {"spec", "resourceAttributes"});
    Json answered = review;
    answered["status"] = {{"allowed", rule(attributes == nullptr ? Json() : *attributes)}};
    return Result<Json>(std::move(answered));
  });
}

// ---- faults

std::optional<FakeApi::Fault> FakeApi::take_fault(const kube::ApiRequest& request) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (!fault->matches(request)) continue;
    Fault taken = *fault;
    if (--fault->times <= 0) faults_.erase(fault);
    return taken;
  }
  return std::nullopt;
}

void FakeApi::fail_next(Matcher matches, Error error, Applied applied, int times) {
  std::unique_lock lock(mutex_);
  faults_.push_back({std::move(matches), std::move(error), applied, times});
}

void FakeApi::fail_next(std::string method, std::string path_part, Error error, Applied applied,
                        int times) {
  fail_next(
      [method = std::move(method), part = std::move(path_part)](const kube::ApiRequest& request) {
        return (method.empty() || method == request.method) &&
               request.path.find(part) != std::string::npos;
      },
      std::move(error), applied, times);
}

void FakeApi::compact(bool as_status) {
  std::unique_lock lock(mutex_);
  compacted_ = ++version_;  // every position given out so far is before it
  compacted_as_status_ = as_status;
}

void FakeApi::refuse_streaming_lists() {
  std::unique_lock lock(mutex_);
  streams_lists_ = false;
}

void FakeApi::end_watches() {
  std::unique_lock lock(mutex_);
  ++watch_epoch_;
  changed_.notify_all();
}

void FakeApi::pause_watches() {
  std::unique_lock lock(mutex_);
  paused_ = true;
}

void FakeApi::resume_watches() {
  std::unique_lock lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}

void FakeApi::bookmark() {
  std::unique_lock lock(mutex_);
  ++version_;
  publish({version_,
           "BOOKMARK",
           "",
           Json(),
           {{"metadata", {{"resourceVersion", std::to_string(version_)}}}}});
}

// ---- what was asked

std::vector<FakeApi::Write> FakeApi::writes() const {
  std::unique_lock lock(mutex_);
  return writes_;
}

std::vector<FakeApi::Write> FakeApi::writes(std::string_view method,
                                            std::string_view path_part) const {
  std::vector<Write> found;
  for (auto& write : writes()) {
    if (write.method == method && write.path.find(path_part) != std::string::npos) {
      found.push_back(std::move(write));
    }
  }
  return found;
}

void FakeApi::clear_writes() {
  std::unique_lock lock(mutex_);
  writes_.clear();
}

int FakeApi::requests() const {
  std::unique_lock lock(mutex_);
  return requests_;
}

int FakeApi::open_watches() const {
  std::unique_lock lock(mutex_);
  return open_watches_;
}

}  // namespace nervex::testing
