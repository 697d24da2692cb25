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

using BytesBy = std::unordered_map<std::string, std::size_t>;

std::size_t find_bytes(const BytesBy& bytes, const std::string& key) {
  const auto at = bytes.find(key);
  return at == bytes.end() ? 0 : at->second;
}

void set_bytes(BytesBy& all, const std::string& key, std::size_t bytes) {
  if (bytes == 0) {
    all.erase(key);
  } else {
    all[key] = bytes;
  }
}

}  // namespace

job::Job KeptTemplates::fit(job::Job job) const {
  if (!has_space(job.meta, job::template_bytes(job))) job = job::left_out(std::move(job));
  return job;
}

bool KeptTemplates::has_space(const kube::Meta& job, std::size_t bytes) const {
  const MutexLock lock(mutex_);
  const std::size_t before = find_bytes(by_job_, job.key());
  return all_ - before + bytes <= most_ &&
         find_bytes(by_namespace_, job.ns.str()) - before + bytes <= most_of_namespace_;
}

// The store is asked under the lock: the last recount is of its last state.
void KeptTemplates::recount(const kube::Meta& job) {
  const std::string key = job.key();
  const MutexLock lock(mutex_);
  const auto stored = jobs_.get(key);
  const bool is_kept = stored != nullptr && stored->left_out_bytes == 0;
  const std::size_t bytes = is_kept ? job::template_bytes(*stored) : 0;
  const std::size_t before = find_bytes(by_job_, key);
  all_ = all_ - before + bytes;
  set_bytes(by_job_, key, bytes);
  set_bytes(by_namespace_, job.ns.str(), find_bytes(by_namespace_, job.ns.str()) - before + bytes);
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
