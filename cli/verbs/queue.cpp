#include <fmt/format.h>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/queues/queue_table.h"
#include "cli/verbs/verbs.h"
#include "kube/paged_list.h"

namespace nervex::cli {
namespace {

struct QueueFlags {
  std::string queue;  // "": all
  bool all_namespaces = false;
  Output output = Output::kTable;
  ClusterFlags cluster;
};

void define_queue(CLI::App& command, QueueFlags& flags) {
  command.add_option("queue", flags.queue, "name of a Queue (default: all)")->type_name("QUEUE");
  command.add_flag("-A,--all-namespaces", flags.all_namespaces,
                   "show waiting jobs of all namespaces");
  add_output_flag(command, flags.output, {Output::kTable, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

Result<std::vector<Json>> read_queues(kube::Api& api, const std::string& name) {
  if (!name.empty()) {
    auto queue = kube::get_object(api, kube::kQueues, "", name);
    if (!queue) return queue.error();
    return std::vector<Json>{*std::move(queue)};
  }
  const auto list = kube::get_object(api, kube::kQueues, "", "");
  if (!list) return list.error();
  const Json& items = kube::array_at(*list, {"items"});
  return sort_queues({items.begin(), items.end()});
}

constexpr int kListedAtOnce = 500;

Result<std::vector<JobRow>> read_waiting(kube::Api& api, const std::string& ns,
                                         const QueueFlags& flags) {
  std::vector<JobRow> jobs;
  const auto listed = kube::list_in_pages(
      api, kube::api_path(kube::kNervexJobs, flags.all_namespaces ? "" : ns), kListedAtOnce,
      [&](std::string_view text) -> Result<Nothing> {
        const auto job = job::parse_job(text);
        if (!job) return job.error();
        const bool is_wanted = flags.queue.empty() || job->status.queue.name == flags.queue;
        if (is_wanted) jobs.push_back(make_job_row(*job));
        return ok();
      });
  if (!listed) return listed.error();
  return find_waiting(std::move(jobs));
}

Result<std::vector<ReservingGang>> read_reserving(kube::Api& api, const std::string& ns,
                                                  const QueueFlags& flags) {
  std::vector<ReservingGang> gangs;
  const auto listed = kube::list_in_pages(
      api, kube::api_path(kube::kPodGroups, flags.all_namespaces ? "" : ns), kListedAtOnce,
      [&](std::string_view text) -> Result<Nothing> {
        if (text.find("\"reservation\"") == std::string_view::npos) return ok();  // nearly all
        const auto object = kube::parse_json(text);
        if (!object) return object.error();
        const auto group = gang::decode_pod_group(*object);
        if (!group) return group.error();
        for (auto& gang : find_reserving(*group)) {
          const bool is_wanted = flags.queue.empty() || gang.queue == flags.queue;
          if (is_wanted) gangs.push_back(std::move(gang));
        }
        return ok();
      });
  if (!listed) return listed.error();
  sort_reserving(gangs);
  return gangs;
}

struct QueuesSeen {
  std::vector<Json> queues;
  std::vector<JobRow> waiting;
  std::vector<ReservingGang> reserving;
  std::vector<std::string> left_out;  // what could not be read, one sentence each
};

void print_as_json(const QueuesSeen& seen, Output output) {
  Json json = {
      {"queues", Json::array()}, {"waiting", Json::array()}, {"reservations", Json::array()}};
  for (const auto& queue : seen.queues) json["queues"].push_back(queue_json(queue));
  for (const auto& job : seen.waiting) json["waiting"].push_back(to_json(job));
  for (const auto& gang : seen.reserving) json["reservations"].push_back(to_json(gang));
  if (!seen.left_out.empty()) json["leftOut"] = seen.left_out;
  write_out(serialize(versioned("QueueView", std::move(json)), output));
}

// Without those that would be empty.
void print_tables(const QueuesSeen& seen) {
  const SysTime now = SystemClock().now();
  std::string text;
  const auto add = [&text](bool is_any, const Rows& rows) {
    if (is_any) text += (text.empty() ? "" : "\n") + table(rows, "");
  };
  add(!seen.queues.empty(), queue_rows(seen.queues));
  add(!seen.waiting.empty(), waiting_rows(seen.waiting, now));
  add(!seen.reserving.empty(), reserving_rows(seen.reserving, now));
  if (!text.empty()) write_out(text);
}

int run_queue(const QueueFlags& flags) {
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    auto queues = read_queues(api, flags.queue);
    if (!queues) return fail("read queues", queues.error());
    auto waiting = read_waiting(api, ns, flags);
    if (!waiting) return fail("read the jobs that wait", waiting.error());
    QueuesSeen seen{*std::move(queues), *std::move(waiting), {}, {}};
    if (auto reserving = read_reserving(api, ns, flags)) {
      seen.reserving = *std::move(reserving);
    } else {
      seen.left_out.push_back("cannot show reserved nodes: " + reserving.error().message);
    }
    const bool is_table = flags.output == Output::kTable;
    is_table ? print_tables(seen) : print_as_json(seen, flags.output);
    if (is_table && seen.queues.empty()) note("there are no Queues: all jobs wait in one line");
    if (is_table && seen.waiting.empty()) {
      note(flags.all_namespaces ? "no job waits"
                                : fmt::format("no job of namespace {} waits (-A: of all)", ns));
    }
    for (const auto& missing : seen.left_out) note(missing);
    return kExitOk;
  });
}

}  // namespace

void add_queue(Verbs& verbs) {
  verbs.add<QueueFlags>(
      {.name = "queue",
       .what =
           "Shows the Queues: what they use, what they may use, and the jobs that wait in them. "
           "What a Queue uses may be a minute old. Jobs of other namespaces are only counted, "
           "unless you ask for them (-A) and may list them. The waiting jobs come by position, "
           "then the oldest first; a position of 10+ means 10 or more, and - that the job has "
           "none: the reason says why. Requests of running jobs are not listed. Jobs for which "
           "nodes are reserved come last: how many nodes each keeps, and when it starts at the "
           "latest. With a name: this Queue, and the jobs of the Queue itself, not of its parts.",
       .examples = {"queue", "queue vision", "queue -A", "queue -o json"},
       .exit_codes = "0 success, also if reserved nodes could not be read, 1 the queue was not "
                     "found, or Queues or jobs could not be read, 2 wrong usage"},
      define_queue, run_queue);
}

}  // namespace nervex::cli
