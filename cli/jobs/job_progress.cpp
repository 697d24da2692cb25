#include "cli/jobs/job_progress.h"

#include <chrono>

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/jobs/explain.h"
#include "cli/jobs/gather.h"

namespace nervex::cli {
namespace {

constexpr std::chrono::seconds kBetweenReads{5};

std::string relevant_state(const job::Job& job) {
  const job::Condition* scheduled = job::find_condition(job.status, "Scheduled");
  return fmt::format("{} {} {} {} {} {}", to_string(job.status.phase), job.status.reason,
                     job.status.attempt, job.spec.suspend, job.meta.deleting,
                     scheduled == nullptr ? "" : scheduled->message);
}

}  // namespace

void JobProgress::report(const job::Job& job) {
  const MonoTime now = SystemClock().mono();
  std::string state = relevant_state(job);
  if (state == reported_ && now - read_at_ < kBetweenReads) return;
  std::vector<std::string> left_out;
  const auto seen = gather(api_, ns_, job_, SystemClock().now(), left_out);
  if (!seen) return;
  reported_ = std::move(state);
  read_at_ = now;
  std::string line = fmt::format("{} {}", job_, state_line(view::summarize(*seen)));
  if (line == last_) return;
  last_ = std::move(line);
  note(last_);
}

}  // namespace nervex::cli
