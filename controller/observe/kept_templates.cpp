#include "controller/observe/kept_templates.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "job/kept.h"

namespace nervex::controller {
namespace {

// Templates with more bytes of text than these are large.
constexpr std::size_t kLargeTemplates = std::size_t{64} << 10U;
// A text of empty arrays becomes that many times as large.
constexpr std::size_t kMostPerByte = 48;

}  // namespace

job::Job KeptTemplates::keep(job::Job job) {
  const std::string key = job.meta.key();
  const std::string& ns = job.meta.ns.str();
  const std::size_t bytes = job::template_bytes(job);
  const MutexLock lock(mutex_);
  if (deleted_.count(job.meta.uid) > 0) return job;
  take_off(key, ns);
  const auto of_namespace = by_namespace_.find(ns);
  const std::size_t used = of_namespace == by_namespace_.end() ? 0 : of_namespace->second;
  if (all_ + bytes > most_ || used + bytes > most_of_namespace_) {
    return job::left_out(std::move(job));
  }
  if (bytes == 0) return job;
  by_job_[key] = {job.meta.uid, bytes};
  by_namespace_[ns] += bytes;
  all_ += bytes;
  return job;
}

void KeptTemplates::forget(const kube::Meta& job) {
  const std::string key = job.key();
  const MutexLock lock(mutex_);
  if (deleted_.insert(job.uid).second) deleted_order_.push_back(job.uid);
  if (deleted_order_.size() > kMaxDeleted) {
    deleted_.erase(deleted_order_.front());
    deleted_order_.pop_front();
  }
  const auto counted = by_job_.find(key);
  if (counted != by_job_.end() && counted->second.uid == job.uid) take_off(key, job.ns.str());
}

void KeptTemplates::take_off(const std::string& key, const std::string& ns) {
  const auto counted = by_job_.find(key);
  if (counted == by_job_.end()) return;
  const std::size_t bytes = counted->second.bytes;
  all_ -= bytes;
  const auto of_namespace = by_namespace_.find(ns);
  of_namespace->second -= bytes;
  if (of_namespace->second == 0) by_namespace_.erase(of_namespace);
  by_job_.erase(counted);
}

Result<std::optional<MemoryBudget::Share>> ParsedTemplates::take(const job::Job& job) {
  const std::size_t text = job::template_bytes(job);
  if (text <= kLargeTemplates) return std::optional<MemoryBudget::Share>();
  auto share =
      budget_.take(std::min(text * kMostPerByte, kMost), std::chrono::milliseconds(0), job.meta.ns);
  if (!share) return Error{Code::kTransient, "other large jobs are being reconciled"};
  return share;
}

}  // namespace nervex::controller
