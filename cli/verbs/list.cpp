#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/jobs/job_choice.h"
#include "cli/jobs/job_row.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "kube/paged_list.h"

namespace nervex::cli {
namespace {

struct ListFlags {
  bool all_namespaces = false;
  std::string selector;
  JobSort sort = JobSort::kName;
  bool watch = false;
  Output output = Output::kTable;
  ClusterFlags cluster;
};

const std::map<std::string, JobSort> kJobSorts = {{"name", JobSort::kName},
                                                  {"age", JobSort::kAge},
                                                  {"phase", JobSort::kPhase},
                                                  {"ready", JobSort::kReady}};

void define_list(CLI::App& command, ListFlags& flags) {
  command.add_flag("-A,--all-namespaces", flags.all_namespaces, "jobs of all namespaces");
  command.add_option("-l,--selector", flags.selector, "jobs with these labels: a=b,c!=d,e")
      ->type_name("SELECTOR");
  command
      .add_option_function<std::string>(
          "--sort", [&flags](const std::string& text) { flags.sort = kJobSorts.at(text); },
          "order; age: newest first, ready: most ready pods first")
      ->check(CLI::IsMember({"name", "age", "phase", "ready"}))
      ->type_name("COLUMN")
      ->default_str("name");
  command.add_flag("-w,--watch", flags.watch,
                   "print each change after the list, one line each, until Ctrl-C");
  add_output_flag(command, flags.output,
                  {Output::kTable, Output::kWide, Output::kJson, Output::kYaml, Output::kName});
  add_cluster_flags(command, flags.cluster);
}

constexpr int kListPage = 500;

std::string list_path(const ListFlags& flags, const std::string& ns) {
  const std::string path = kube::api_path(kube::kNervexJobs, flags.all_namespaces ? "" : ns);
  return flags.selector.empty()
             ? path
             : kube::with_query(path, "labelSelector=" + kube::percent_encode(flags.selector));
}

std::string describe_list(const ListFlags& flags, const std::string& ns) {
  return flags.all_namespaces ? "list jobs of all namespaces" : "list jobs of " + ns;
}

class RowPrinter {
 public:
  explicit RowPrinter(const ListFlags& flags)
      : output_(flags.output),
        columns_{flags.all_namespaces, flags.output == Output::kWide},
        paint_(has_colours(stdout)) {}

  void print(const std::vector<JobRow>& rows) {
    if (output_ == Output::kJson || output_ == Output::kYaml) {
      Json items = Json::array();
      for (const auto& row : rows) items.push_back(to_json(row));
      put(serialize(versioned("JobList", {{"items", std::move(items)}}), output_));
    } else if (output_ == Output::kName) {
      for (const auto& row : rows) put(printable(qualified_name(row.name)) + "\n");
    } else {
      const SysTime now = SystemClock().now();
      Rows cells = {job_header(columns_)};
      for (const auto& row : rows) cells.push_back(job_cells(row, columns_, now, paint_));
      put(table_.add(cells));
    }
  }

  // One line for a change.
  void print_change(const JobRow& row, bool is_deleted) {
    if (output_ == Output::kJson || output_ == Output::kYaml) {
      Json json = versioned("Job", to_json(row));
      if (is_deleted) json["deleted"] = true;
      put(serialize_line(json, output_));
    } else if (output_ == Output::kName) {
      put(printable(qualified_name(row.name)) + "\n");
    } else {
      JobRow shown = row;
      if (is_deleted) shown.reason = "Deleted";
      put(table_.add({job_cells(shown, columns_, SystemClock().now(), paint_)}));
    }
  }

 private:
  static void put(const std::string& text) { write_out(text); }

  const Output output_;
  const JobColumns columns_;
  const Paint paint_;
  GrowingTable table_;
};

int list_once(kube::Api& api, const ListFlags& flags, const std::string& ns) {
  std::vector<JobRow> rows;
  const auto listed = kube::list_in_pages(api, list_path(flags, ns), kListPage,
                                          [&](std::string_view text) -> Result<Nothing> {
                                            const auto job = job::parse_job(text);
                                            if (!job) return job.error();
                                            rows.push_back(make_job_row(*job));
                                            return ok();
                                          });
  if (!listed) return fail(describe_list(flags, ns), listed.error());
  const bool is_table = flags.output == Output::kTable || flags.output == Output::kWide;
  if (rows.empty() && is_table) {
    note(flags.all_namespaces ? "no jobs" : fmt::format("no jobs in namespace {}", ns));
    return kExitOk;
  }
  sort_rows(rows, flags.sort);
  RowPrinter(flags).print(rows);
  return kExitOk;
}

int list_and_watch(kube::Api& api, const ListFlags& flags, const std::string& ns) {
  const Interrupt interrupt;
  std::map<std::string, JobRow> rows;  // as printed last
  bool is_listed = false;
  RowPrinter printer(flags);
  FollowCalls calls;
  calls.on_listed = [&] {
    std::vector<JobRow> sorted;
    sorted.reserve(rows.size());
    for (const auto& [key, row] : rows) sorted.push_back(row);
    sort_rows(sorted, flags.sort);
    printer.print(sorted);
    return is_listed = true;
  };
  calls.on_object = [&](const std::string& key, const Json* object) {
    if (object == nullptr) {
      printer.print_change(rows[key], true);
      rows.erase(key);
      return true;
    }
    const auto job = job::decode_job(*object);
    if (!job) return true;
    const JobRow row = make_job_row(*job);
    if (const auto known = rows.find(key); known != rows.end() && known->second == row) return true;
    rows[key] = row;
    if (is_listed) printer.print_change(row, false);
    return true;
  };
  calls.on_lost = [](const Error& error) { note(error.message + "; trying again"); };
  const auto ended = follow(api, list_path(flags, ns), calls, interrupt.token());
  if (!ended) return fail(describe_list(flags, ns), ended.error());
  return interrupt.is_interrupted() ? kExitInterrupted : kExitOk;
}

int run_list(const ListFlags& flags) {
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    return flags.watch ? list_and_watch(api, flags, ns) : list_once(api, flags, ns);
  });
}

}  // namespace

void add_list(Verbs& verbs) {
  verbs.add<ListFlags>(
      {.name = "list",
       .what =
           "Lists jobs with phase, queue, position in the queue, ready pods, reason and age. -o "
           "wide adds how long a job waited for capacity, how long it ran, its attempt and its "
           "workers. A position of 10+ means 10 or more.",
       .examples = {"list", "list -A --sort age", "list -l team=vision -o wide", "list -o json"},
       .exit_codes = "0 success, 1 failure, 2 wrong usage, 130 interrupted"},
      define_list, run_list);
}

}  // namespace nervex::cli
