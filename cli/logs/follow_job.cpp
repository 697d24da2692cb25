#include "cli/logs/follow_job.h"

#include <utility>

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/jobs/job_progress.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "job/counts.h"
#include "job/names.h"

namespace nervex::cli {
namespace {

// After the job's end: for the rest of the logs.
constexpr std::chrono::seconds kDrain{10};

Colour role_colour(const kube::Pod& pod) {
  switch (job::pod_role(pod).value_or(job::Role::kCoordinator)) {
    case job::Role::kCoordinator:
      return Colour::kCyan;
    case job::Role::kAggregator:
      return Colour::kMagenta;
    case job::Role::kCollector:
      return Colour::kGreen;
    case job::Role::kLearner:
      return Colour::kYellow;
    case job::Role::kDdpLearner:
      return Colour::kBlue;
  }
  return Colour::kCyan;
}

bool has_started(const kube::Pod& pod) {
  return pod.phase != kube::PodPhase::kPending || job::main_state(pod) != nullptr;
}

// Starts the logs of a job's chosen pods: of those that exist, and until `stop` of new ones.
class LogStarter {
 public:
  LogStarter(kube::Api& api, const job::Job& job, const PodChoice& choice, LogStreams& streams)
      : api_(api),
        uid_(job.meta.uid),
        path_(kube::with_label(kube::api_path(kube::kPods, job.meta.ns.str()), job::kJobLabel,
                               job.meta.name)),
        choice_(choice),
        streams_(streams) {}

  void run(const std::stop_token& stop, bool is_once) {
    FollowCalls calls;
    calls.on_object = [this](const std::string&, const Json* object) {
      if (object != nullptr) start(*object);
      return true;
    };
    calls.on_listed = [is_once] { return !is_once; };
    calls.on_lost = [](const Error& error) { note(error.message + "; trying again"); };
    calls.retries_first_list = true;
    const auto ended = follow(api_, path_, calls, stop);
    if (!ended) fail("follow the logs", ended.error());
  }

 private:
  void start(const Json& object) {
    const auto pod = kube::decode_pod(kube::to_text(object), chosen_pod_filter());
    const bool is_ours = pod && pod->meta.owner && pod->meta.owner->uid == uid_;
    if (!is_ours || !is_chosen(choice_, *pod) || !has_started(*pod)) return;
    if (!streams_.start(*pod) && !std::exchange(has_warned_, true)) {
      note(fmt::format("more than {} pods: following the logs of the first ones only",
                       LogStreams::kMost));
    }
  }

  kube::Api& api_;
  const std::string uid_;
  const std::string path_;
  const PodChoice choice_;
  LogStreams& streams_;
  bool has_warned_ = false;
};

}  // namespace

Result<JobEnd> follow_job(kube::Api& api, const std::string& ns, const std::string& job,
                          const std::optional<PodChoice>& choice, const LogOptions& options,
                          const Interrupt& interrupt) {
  LogPrinter printer(choice && !is_single(*choice));
  LogStreams streams(
      api, options,
      {.on_line = [&](const kube::Pod& pod, std::string_view line) { printer.print(pod, line); },
       .on_end = [&](const kube::Pod& pod,
                     const Result<std::string>& end) { printer.print_end(pod, end); }});
  JobProgress progress(api, ns, job);
  JobEnd seen;
  std::optional<LogStarter> starter;
  std::jthread pods;
  FollowCalls calls;
  calls.on_object = [&](const std::string&, const Json* object) {
    if (object == nullptr) {
      seen.is_deleted = true;
      return false;
    }
    auto now = job::decode_job(*object);
    if (!now) return true;
    seen.job = *std::move(now);
    if (job::is_final(seen.job->status.phase)) return false;
    if (choice && !starter) {
      starter.emplace(api, *seen.job, *choice, streams);
      pods = std::jthread([&starter](const std::stop_token& stop) { starter->run(stop, false); });
    }
    progress.report(*seen.job);
    return true;
  };
  calls.on_listed = [&] { return seen.job.has_value(); };
  calls.on_lost = [](const Error& error) { note(error.message + "; trying again"); };
  calls.retries_first_list = true;
  auto ended = follow(api, object_path(kube::kNervexJobs, ns, job), calls, interrupt.token());
  if (!ended) return ended.error();
  pods = std::jthread();  // stopped and joined
  if (interrupt.is_interrupted() || !starter) return seen;
  starter->run(interrupt.token(), true);  // a short job's pod may have come last
  streams.wait(SystemClock().mono() + kDrain, interrupt.token());
  return seen;
}

LogPrinter::LogPrinter(bool has_titles)
    : has_titles_(has_titles), has_colours_(has_colours(stdout)) {}

void LogPrinter::print(const kube::Pod& pod, std::string_view line) {
  std::string text;
  if (has_titles_) {
    text = Paint(has_colours_)(role_colour(pod), printable(pod_title(pod))) + " | ";
  }
  text += line;
  text += '\n';
  write_log_line(text);
}

void LogPrinter::print_end(const kube::Pod& pod, const Result<std::string>& end) {
  const std::string who = fmt::format("{} ({})", pod_title(pod), pod.meta.name);
  if (end) {
    note(fmt::format("{}: {}", who, *end));
  } else {
    fail("read the log of " + who, end.error());
  }
}

}  // namespace nervex::cli
