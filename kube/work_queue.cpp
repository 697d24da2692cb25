#include "kube/work_queue.h"

#include <algorithm>

namespace nervex::kube {
namespace {

using std::chrono::milliseconds;

// client-go's ItemExponentialFailureRateLimiter.
constexpr milliseconds kFirstDelay{5};
constexpr milliseconds kLongestDelay{1'000'000};
constexpr int kMostDoublings = 18;  // 5 ms << 18 is beyond the longest delay

// The clock may be a test's: it does not wake anybody when it moves.
constexpr milliseconds kLongestWait{1000};

milliseconds delay_after(int failures) {
  return std::min(kFirstDelay * (1 << std::min(failures, kMostDoublings)), kLongestDelay);
}

}  // namespace

void WorkQueue::add(const std::string& key) {
  MutexLock lock(mutex_);
  push(key);
}

void WorkQueue::add_after(const std::string& key, milliseconds delay) {
  MutexLock lock(mutex_);
  if (delay <= milliseconds::zero()) return push(key);
  const MonoTime due = clock_.mono() + delay;
  const auto [at, is_new] = due_.emplace(key, due);
  if (!is_new) {
    if (at->second <= due) return;
    const auto [first, last] = delayed_.equal_range(at->second);
    delayed_.erase(std::find_if(first, last, [&](const auto& d) { return d.second == key; }));
    at->second = due;
  }
  delayed_.emplace(due, key);
  wake_.notify_one();  // it may be due before what a worker waits for
}

milliseconds WorkQueue::add_failed(const std::string& key) {
  milliseconds delay{};
  {
    MutexLock lock(mutex_);
    int& failures = failures_[key];
    delay = delay_after(failures);
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
  dirty_.erase(key);
  working_.insert(key);
  return key;
}

void WorkQueue::done(const std::string& key) {
  MutexLock lock(mutex_);
  working_.erase(key);
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
  std::size_t due = 0;
  const MonoTime now = clock_.mono();
  for (auto at = delayed_.begin(); at != delayed_.end() && at->first <= now; ++at) {
    const bool is_there = dirty_.count(at->second) != 0 || working_.count(at->second) != 0;
    if (!is_there) ++due;
  }
  return ready_.size() + due;
}

// Of a key that is being worked on only a note is kept: done() puts it back into the line.
void WorkQueue::push(const std::string& key) {
  if (shut_down_ || !dirty_.insert(key).second || working_.count(key) != 0) return;
  ready_.push_back(key);
  wake_.notify_one();
}

void WorkQueue::release_due() {
  const MonoTime now = clock_.mono();
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const std::string key = std::move(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    due_.erase(key);
    push(key);
  }
}

}  // namespace nervex::kube
