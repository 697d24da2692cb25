#include "webhook/live_check.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "job/schema/job_schema.h"
#include "schemas/schemas.h"

namespace nervex::webhook {

namespace {

constexpr std::string_view kIndexPath = "/openapi/v3";
constexpr std::chrono::seconds kRetry{1};
constexpr std::chrono::minutes kReload{10};

Result<std::string> get(kube::Api& api, std::string_view path) {
  return api.send({.method = "GET", .path = std::string(path), .body = "", .content_type = ""});
}

// The index entry of the core document: "/openapi/v3/api/v1?hash=..."; the hash changes with the
// content. "" if unknown: then only the document itself can tell.
std::string version_in(const std::string& index) {
  const auto json = kube::parse_json(index);
  if (!json) return "";
  const Json::json_pointer where("/paths/api~1v1/serverRelativeURL");
  if (!json->contains(where) || !json->at(where).is_string()) return "";
  const auto url = json->at(where).get<std::string>();
  return url.find("hash=") == std::string::npos ? "" : url;
}

}  // namespace

std::shared_ptr<const job::SchemaCheck> LiveCheck::current() const {
  const MutexLock lock(mutex_);
  return check_;
}

std::string LiveCheck::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

// False: another thread loads.
bool LiveCheck::begin_loading() {
  const MutexLock lock(mutex_);
  if (is_loading_) return false;
  is_loading_ = true;
  is_wanted_ = false;
  looked_ = clock_.mono();
  return true;
}

void LiveCheck::end_loading() {
  const MutexLock lock(mutex_);
  is_loading_ = false;
  ++loads_;
  changed_.notify_all();
}

Result<Nothing> LiveCheck::load() {
  if (!begin_loading()) return ok();
  auto loaded = load_now();
  end_loading();
  return loaded;
}

std::shared_ptr<const job::SchemaCheck> LiveCheck::newer_than(const job::SchemaCheck& outdated,
                                                              std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mutex_);
  if (check_.get() != &outdated) return check_;
  const bool is_recent = looked_ && clock_.mono() < *looked_ + kLookAgainAfter;
  if (is_recent && !is_loading_) return check_;
  // A load that began long ago may have missed the change.
  const auto enough = loads_ + (is_loading_ && !is_recent ? 2 : 1);
  is_wanted_ = is_wanted_ || !is_recent;
  changed_.notify_all();
  while (loads_ < enough && check_.get() == &outdated) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  return check_;
}

Result<Nothing> LiveCheck::load_now() {
  // An API server without an index still has the document, so an error here is not final.
  const auto index = get(api_, kIndexPath);
  const std::string version = index ? version_in(*index) : "";
  {
    const MutexLock lock(mutex_);
    if (check_ != nullptr && !version.empty() && version == version_) return ok();
  }
  const auto document = get(api_, job::kCoreOpenApiPath);
  if (!document) return document.error();
  auto made = job::make_job_check(schemas::nervex_job(), *document);
  if (!made) return made.error();
  {
    const MutexLock lock(mutex_);
    check_ = *std::move(made);
    version_ = version;
  }
  log_info("loaded the cluster's OpenAPI", {{"version", version}});
  return ok();
}

void LiveCheck::keep_loaded(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto loaded = load();
    if (!loaded) log_warn("cannot load the cluster's OpenAPI", {{"error", loaded.error().message}});
    wait_for_work(current() != nullptr ? kReload : kRetry, stop);
  }
}

void LiveCheck::wait_for_work(std::chrono::milliseconds at_most, const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  changed_.wait_for(mutex_, stop, at_most, [this]() REQUIRES(mutex_) { return is_wanted_; });
}

Result<Nothing> LiveCheck::check_ready() const {
  if (current() != nullptr) return ok();
  return Error{Code::kTransient, "the cluster's OpenAPI is not loaded yet"};
}

}  // namespace nervex::webhook
