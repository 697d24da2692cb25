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

Result<std::vector<JobRow>> read_waiting(kube::Api& api, const std::string& ns,
                                         const QueueFlags& flags) {
  constexpr int kPageSize = 500;
  std::vector<JobRow> jobs;
  const auto listed = kube::list_in_pages(
      api, kube::api_path(kube::kNervexJobs, flags.all_namespaces ? "" : ns), kPageSize,
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

void print_queues(const std::vector<Json>& queues, const std::vector<JobRow>& waiting,
                  const QueueFlags& flags) {
  if (flags.output != Output::kTable) {
    Json json = {{"queues", Json::array()}, {"waiting", Json::array()}};
    for (const auto& queue : queues) json["queues"].push_back(queue_json(queue));
    for (const auto& job : waiting) json["waiting"].push_back(to_json(job));
    write_out(serialize(versioned("QueueView", std::move(json)), flags.output));
    return;
  }
  if (!queues.empty()) write_out(table(queue_rows(queues), ""));
  if (queues.empty()) note("there are no Queues: all jobs wait in one line");
  if (!queues.empty() && !waiting.empty()) write_out("\n");
  if (!waiting.empty()) write_out(table(waiting_rows(waiting, SystemClock().now()), ""));
}

int run_queue(const QueueFlags& flags) {
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    const auto queues = read_queues(api, flags.queue);
    if (!queues) return fail("read queues", queues.error());
    const auto waiting = read_waiting(api, ns, flags);
    if (!waiting) return fail("read the jobs that wait", waiting.error());
    print_queues(*queues, *waiting, flags);
    if (waiting->empty() && flags.output == Output::kTable) {
      note(flags.all_namespaces
               ? "no job waits for capacity"
               : fmt::format("no job of namespace {} waits for capacity (-A: of all)", ns));
    }
    return kExitOk;
  });
}

}  // namespace

void add_queue(Verbs& verbs) {
  verbs.add<QueueFlags>(
      {.name = "queue",
       .what =
           "Shows the Queues: what they use, what they may use, and the jobs that wait in them. "
           "What a Queue uses may be a minute old. The waiting jobs come in their order; those of "
           "other namespaces are only counted, unless you may list them (-A). A position of 10+ "
           "means 10 or more.",
       .examples = {"queue", "queue -A", "queue -o json"},
       .exit_codes = "0 success, 1 the queue was not found or something could not be read, 2 wrong "
                     "usage"},
      define_queue, run_queue);
}

}  // namespace nervex::cli
