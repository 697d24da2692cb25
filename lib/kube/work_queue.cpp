#include "kube/work_queue.h"

#include <algorithm>
#include <numeric>

#include "base/backoff.h"

namespace nervex::kube {
namespace {

using std::chrono::milliseconds;

// As client-go's ItemExponentialFailureRateLimiter, except for its longest delay of 1,000 s: an
// object whose writes failed holds capacity or waits meanwhile, and the cause may be fixed sooner.
constexpr milliseconds kFirstDelay{5};
constexpr milliseconds kLongestDelay{60'000};

// A test's clock does not wake waiting threads when it moves.
constexpr milliseconds kLongestWait{1000};

milliseconds delay_after(int failures) {
  return backoff_delay(kFirstDelay, failures, kLongestDelay);
}

double seconds_between(MonoTime from, MonoTime to) {
  return std::chrono::duration<double>(std::max(to - from, MonoTime::duration::zero())).count();
}

}  // namespace

void DurationHistogram::observe(double seconds) {
  const auto bucket = std::lower_bound(kBoundsSeconds.begin(), kBoundsSeconds.end(), seconds);
  ++counts[static_cast<std::size_t>(bucket - kBoundsSeconds.begin())];
  sum_seconds += seconds;
}

std::uint64_t DurationHistogram::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void WorkQueue::add(const std::string& key) {
  MutexLock lock(mutex_);
  push(key, clock_.mono());
}

void WorkQueue::add_after(const std::string& key, milliseconds delay) {
  MutexLock lock(mutex_);
  if (shut_down_) return;
  ++counted_.retries;
  const MonoTime now = clock_.mono();
  if (delay <= milliseconds::zero()) return push(key, now);
  const MonoTime due = now + delay;
  const auto [at, is_new] = due_.emplace(key, due);
  if (!is_new) {
    if (at->second <= due) return;
    const auto [first, last] = delayed_.equal_range(at->second);
    delayed_.erase(std::find_if(first, last, [&](const auto& d) { return d.second == key; }));
    at->second = due;
  }
  delayed_.emplace(due, key);
  wake_.notify_one();  // it may be due before the key that a worker waits for
}

milliseconds WorkQueue::add_failed(const std::string& key, milliseconds at_least) {
  milliseconds delay{};
  {
    MutexLock lock(mutex_);
    int& failures = failures_[key];
    delay = std::max(delay_after(failures), at_least);
    failures = std::min(failures + 1, 1'000'000);
  }
  add_after(key, delay);
  return delay;
}

void WorkQueue::forget(const std::string& key) {
  MutexLock lock(mutex_);
  failures_.erase(key);
}

int WorkQueue::failures(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto at = failures_.find(key);
  return at == failures_.end() ? 0 : at->second;
}

std::optional<std::string> WorkQueue::next() {
  MutexLock lock(mutex_);
  while (true) {
    if (shut_down_) return std::nullopt;
    release_due();
    if (!ready_.empty()) break;
    if (delayed_.empty()) {
      wake_.wait(mutex_);
    } else {
      const auto until_due = delayed_.begin()->first - clock_.mono();
      wake_.wait_for(mutex_, std::min<std::chrono::nanoseconds>(until_due, kLongestWait));
    }
  }
  std::string key = std::move(ready_.front());
  ready_.pop_front();
  const MonoTime now = clock_.mono();
  const auto waited = dirty_.extract(key);
  counted_.in_queue.observe(seconds_between(waited.mapped(), now));
  working_.emplace(key, now);
  // This worker may have been the one that waited for the next delay: another takes over.
  if (!ready_.empty() || !delayed_.empty()) wake_.notify_one();
  return key;
}

void WorkQueue::done(const std::string& key) {
  MutexLock lock(mutex_);
  const auto worked = working_.extract(key);
  if (worked) counted_.at_work.observe(seconds_between(worked.mapped(), clock_.mono()));
  if (dirty_.count(key) == 0) return;
  ready_.push_back(key);
  wake_.notify_one();
}

void WorkQueue::shut_down() {
  MutexLock lock(mutex_);
  shut_down_ = true;
  wake_.notify_all();
}

std::size_t WorkQueue::size() const {
  MutexLock lock(mutex_);
  return waiting();
}

WorkQueueStats WorkQueue::stats() const {
  MutexLock lock(mutex_);
  WorkQueueStats stats = counted_;
  stats.depth = waiting();
  const MonoTime now = clock_.mono();
  for (const auto& [key, since] : working_) {
    const double seconds = seconds_between(since, now);
    stats.unfinished_seconds += seconds;
    stats.longest_running_seconds = std::max(stats.longest_running_seconds, seconds);
  }
  return stats;
}

std::size_t WorkQueue::waiting() const {
  std::size_t due = 0;
  const MonoTime now = clock_.mono();
  for (auto at = delayed_.begin(); at != delayed_.end() && at->first <= now; ++at) {
    const bool is_there = dirty_.count(at->second) != 0 || working_.count(at->second) != 0;
    if (!is_there) ++due;
  }
  return ready_.size() + due;
}

// For a key in progress, only a note is kept: done() queues it again.
void WorkQueue::push(const std::string& key, MonoTime since) {
  if (shut_down_ || !dirty_.emplace(key, since).second) return;
  ++counted_.adds;
  if (working_.count(key) != 0) return;
  ready_.push_back(key);
  wake_.notify_one();
}

void WorkQueue::release_due() {
  const MonoTime now = clock_.mono();
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const auto [due, key] = std::move(*delayed_.begin());
    delayed_.erase(delayed_.begin());
    due_.erase(key);
    push(key, due);
  }
}

}  // namespace nervex::kube
