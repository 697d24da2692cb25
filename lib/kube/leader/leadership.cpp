#include "kube/leader/leadership.h"

#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace nervex::kube {
namespace {

using std::chrono::milliseconds;

// As in kube-controller-manager: how late a leader may be beyond its lease duration.
constexpr std::chrono::seconds kTolerance{20};

// Candidates that start together must not ask together; client-go's JitterFactor.
milliseconds jittered(milliseconds period) {
  static thread_local std::minstd_rand random(std::random_device{}());
  const double share = std::uniform_real_distribution<double>(1.0, 2.2)(random);
  return std::chrono::duration_cast<milliseconds>(period * share);
}

}  // namespace

Leadership::Leadership(Api& api, const Clock& clock, std::optional<LeaseOptions> lease,
                       std::function<void()> lost)
    : lost_(std::move(lost)) {
  if (lease) election_.emplace(api, clock, *std::move(lease));
}

Leadership::~Leadership() { release(); }

void Leadership::start() {
  if (!election_) {
    leads_without_election_ = true;
    return tell();
  }
  campaign_ = std::jthread([this](const std::stop_token& stop) { campaign(stop); });
  deadline_ = std::jthread([this](const std::stop_token& stop) { watch_deadline(stop); });
}

void Leadership::release() {
  leads_without_election_ = false;
  if (!campaign_.joinable()) return;
  for (auto* thread : {&deadline_, &campaign_}) thread->request_stop();
  for (auto* thread : {&deadline_, &campaign_}) thread->join();
  election_->release();
}

bool Leadership::wait(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  return changed_.wait(mutex_, stop, [this] { return is_leader(); });
}

bool Leadership::is_leader() const {
  return election_ ? election_->is_leader() : leads_without_election_.load();
}

bool Leadership::may_write() const {
  return election_ ? election_->may_write() : leads_without_election_.load();
}

Result<Nothing> Leadership::check_ready() const {
  if (!election_ || is_leader()) return ok();
  const auto& options = election_->options();
  const auto unseen = election_->unseen_for();
  if (unseen <= options.lease_duration) return ok();
  return Error{Code::kTransient,
               fmt::format("the lease {} could not be read or created for {} s (see the log)",
                           options.lease.to_string(),
                           std::chrono::floor<std::chrono::seconds>(unseen).count())};
}

Result<Nothing> Leadership::check_live() const {
  if (!election_) return ok();
  const auto late = election_->unrenewed_for();
  if (late <= election_->options().lease_duration + kTolerance) return ok();
  return Error{Code::kTransient,
               fmt::format("the lease was not renewed for {} s",
                           std::chrono::floor<std::chrono::seconds>(late).count())};
}

void Leadership::campaign(const std::stop_token& stop) {
  const auto& options = election_->options();
  while (!stop.stop_requested() && !election_->is_lost()) {
    const bool led = election_->is_leader();
    election_->try_acquire_or_renew();
    if (election_->is_leader() != led) tell();
    const bool leads = election_->is_leader();
    sleep_unless_stopped(leads ? options.retry_period : jittered(options.retry_period), stop);
  }
  if (election_->is_lost()) std::call_once(lost_reported_, lost_);
}

// Checks often enough to notice a deadline well before the lease ends.
void Leadership::watch_deadline(const std::stop_token& stop) {
  const auto& options = election_->options();
  const milliseconds margin = options.lease_duration - options.renew_deadline;
  const milliseconds pause = std::clamp(margin / 4, milliseconds(10), milliseconds(1000));
  while (!stop.stop_requested()) {
    if (election_->lose_if_late()) return std::call_once(lost_reported_, lost_);
    sleep_unless_stopped(pause, stop);
  }
}

void Leadership::tell() {
  const MutexLock lock(mutex_);  // otherwise a waiter could check before and wait after this
  changed_.notify_all();
}

// ---- a leader's writes

Result<std::string> LeaderApi::send(const ApiRequest& request) {
  if (request.method == "GET") return api_.send(request);
  ApiRequest guarded = request;
  guarded.before_sending = [this]() -> Result<Nothing> {
    if (leadership_.may_write()) return ok();
    return Error{Code::kTransient, "not sent: this replica is not the leader"};
  };
  return api_.send(guarded);
}

Result<Nothing> LeaderApi::stream(const std::string& path,
                                  const std::function<bool(std::string_view line)>& on_line,
                                  std::stop_token stop) {
  return api_.stream(path, on_line, std::move(stop));
}

}  // namespace nervex::kube
