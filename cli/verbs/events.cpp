#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/jobs/job_events.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"

namespace nervex::cli {
namespace {

struct EventsFlags {
  std::string job;
  bool watch = false;
  Output output = Output::kTable;
  ClusterFlags cluster;
};

void define_events(CLI::App& command, EventsFlags& flags) {
  command.add_option("job", flags.job, "name of the NerveXJob")->required()->type_name("JOB");
  command.add_flag("-w,--watch", flags.watch, "print new events after the list, until Ctrl-C");
  add_output_flag(command, flags.output, {Output::kTable, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

void print_events(const std::vector<JobEvent>& events, const EventsFlags& flags) {
  if (flags.output != Output::kTable) {
    Json items = Json::array();
    for (const auto& event : events) items.push_back(to_json(event));
    const Json list = versioned("JobEventList", {{"items", std::move(items)}});
    write_out(serialize(list, flags.output));
    return;
  }
  const Paint paint(has_colours(stdout));
  Rows rows = {event_header()};
  for (const auto& event : events) rows.push_back(event_cells(event, SystemClock().now(), paint));
  write_out(table(rows, ""));
}

void print_new_event(const JobEvent& event, const EventsFlags& flags) {
  if (flags.output == Output::kTable) {
    const Paint paint(has_colours(stdout));
    write_out(table({event_cells(event, SystemClock().now(), paint)}, ""));
  } else {
    const Json json = versioned("JobEvent", to_json(event));
    write_out(serialize_line(json, flags.output));
  }
}

int show_events(kube::Api& api, const std::string& ns, const EventsFlags& flags) {
  const auto object = kube::get_object(api, kube::kNervexJobs, ns, flags.job);
  if (!object) return fail("show events of " + ns + "/" + flags.job, object.error());
  const auto job = job::decode_job(*object);
  if (!job) return fail("show events of " + ns + "/" + flags.job, job.error());

  const Interrupt interrupt;
  std::vector<JobEvent> events;
  bool is_listed = false;
  FollowCalls calls;
  calls.on_object = [&](const std::string&, const Json* seen) {
    auto event = seen == nullptr ? std::nullopt : decode_job_event(*job, *seen);
    if (!event) return true;
    if (is_listed) {
      print_new_event(*event, flags);
    } else {
      events.push_back(*std::move(event));
    }
    return true;
  };
  calls.on_listed = [&] {
    std::stable_sort(events.begin(), events.end(),
                     [](const JobEvent& a, const JobEvent& b) { return a.time < b.time; });
    if (events.empty() && flags.output == Output::kTable) {
      note("no events: Kubernetes keeps them for an hour");
    } else {
      print_events(events, flags);
    }
    is_listed = true;
    return flags.watch;
  };
  calls.on_lost = [](const Error& error) { note(error.message + "; trying again"); };
  calls.retries_first_list = true;
  const auto ended = follow(api, kube::api_path(kube::kEvents, ns), calls, interrupt.token());
  if (!ended) return fail("show events of " + ns + "/" + flags.job, ended.error());
  return interrupt.is_interrupted() ? kExitInterrupted : kExitOk;
}

int run_events(const EventsFlags& flags) {
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    return show_events(api, ns, flags);
  });
}

}  // namespace

void add_events(Verbs& verbs) {
  verbs.add<EventsFlags>(
      {.name = "events",
       .what = "Shows the events of a job, its PodGroup and its pods, the oldest first.",
       .examples = {"events dqn", "events dqn -o json"},
       .exit_codes = "0 success, 1 the job was not found or its events could not be read, 2 wrong "
                     "usage, 130 interrupted"},
      define_events, run_events);
}

}  // namespace nervex::cli
