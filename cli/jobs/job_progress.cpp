#include "cli/jobs/job_progress.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/failure.h"
#include "cli/jobs/explain.h"
#include "cli/jobs/gather.h"

namespace nervex::cli {

void JobProgress::report() {
  std::vector<std::string> left_out;
  const auto seen = gather(api_, ns_, job_, SystemClock().now(), left_out);
  if (!seen) return;
  std::string line = fmt::format("{} {}", job_, state_line(view::summarize(*seen)));
  if (line == last_) return;
  last_ = std::move(line);
  note(last_);
}

}  // namespace nervex::cli
