#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/top/device_use.h"
#include "cli/verbs/verbs.h"
#include "job/types.h"
#include "kube/paged_list.h"

namespace nervex::cli {
namespace {

struct TopFlags {
  bool only_namespace = false;
  Output output = Output::kTable;
  ClusterFlags cluster;
};

void define_top(CLI::App& command, TopFlags& flags) {
  command.add_flag("--only-namespace", flags.only_namespace,
                   "show only the namespace, even if you may see the cluster");
  add_output_flag(command, flags.output, {Output::kTable, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

bool is_refused(const Error& error) {
  return error.code == Code::kForbidden || error.code == Code::kUnauthorized;
}

// Reads the cluster in pages, or what the user may see of it.
class TopReader {
 public:
  TopReader(kube::Api& api, std::string ns, bool only_namespace)
      : api_(api), ns_(std::move(ns)), has_nodes_(!only_namespace) {}

  Result<Nothing> read() {
    auto jobs = read_jobs();
    if (!jobs && has_nodes_ && is_refused(jobs.error())) {
      has_nodes_ = false;
      hidden_.push_back(fmt::format(
          "you may not see all namespaces: this is namespace {} alone, without nodes", ns_));
      jobs = read_jobs();
    }
    if (!jobs) return jobs;
    if (auto groups = read_groups(); !groups) return groups;
    if (has_nodes_) {
      auto nodes = read_nodes();
      if (!nodes && !is_refused(nodes.error())) return nodes;
      if (!nodes) hide_nodes();
    }
    auto pods = read_pods();
    if (pods || !is_refused(pods.error())) return pods;
    columns_.has_pods = false;
    hidden_.emplace_back("you may not see these pods: what they use is left out");
    return ok();
  }

  const DeviceUse& use() const { return use_; }
  const TopColumns& columns() const { return columns_; }
  bool has_nodes() const { return has_nodes_; }
  const std::vector<std::string>& hidden() const { return hidden_; }  // one sentence each

 private:
  template <typename Take>
  Result<Nothing> list(const kube::ResourceKind& kind, const std::string& query, Take take) {
    constexpr int kPageSize = 500;
    const bool is_cluster = has_nodes_ || is_whole_cluster_;
    std::string path = kube::api_path(kind, is_cluster ? "" : ns_);
    if (!query.empty()) path = kube::with_query(path, query);
    const auto listed = kube::list_in_pages(api_, path, kPageSize, take);
    if (!listed) return listed.error();
    return ok();
  }

  Result<Nothing> read_jobs() {
    return list(kube::kNervexJobs, "", [this](std::string_view text) -> Result<Nothing> {
      const auto job = job::parse_job(text);
      if (!job) return job.error();
      if (!job::is_final(job->status.phase)) live_jobs_.insert(job->meta.uid);
      return ok();
    });
  }

  Result<Nothing> read_groups() {
    return list(kube::kPodGroups, "", [this](std::string_view text) -> Result<Nothing> {
      const auto group = gang::parse_pod_group(text);
      if (!group) return group.error();
      const auto& owner = group->meta.owner;
      if (owner && live_jobs_.contains(owner->uid)) use_.add_group(*group);
      return ok();
    });
  }

  Result<Nothing> read_nodes() {
    return list(kube::kNodes, "", [this](std::string_view text) -> Result<Nothing> {
      const auto node = kube::decode_node(text);
      if (!node) return node.error();
      use_.add_node(*node);
      return ok();
    });
  }

  Result<Nothing> read_pods() {
    return list(kube::kPods, "fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed",
                [this](std::string_view text) -> Result<Nothing> {
                  const auto pod = kube::decode_pod(text, {});
                  if (!pod) return pod.error();
                  use_.add_pod(*pod);
                  return ok();
                });
  }

  void hide_nodes() {
    has_nodes_ = false;
    is_whole_cluster_ = true;
    hidden_.emplace_back("you may not see nodes: capacity and free accelerators are left out");
  }

  kube::Api& api_;
  const std::string ns_;
  bool has_nodes_;                 // else only the namespace, or is_whole_cluster_
  bool is_whole_cluster_ = false;  // all namespaces, without nodes
  DeviceUse use_;
  TopColumns columns_;
  std::vector<std::string> hidden_;
  std::set<std::string> live_jobs_;  // uids
};

int print_top(const TopReader& reader, Output output) {
  if (output != Output::kTable) {
    Json json = to_json(reader.use(), reader.columns());
    if (!reader.has_nodes()) json.erase("nodes");
    write_out(serialize(versioned("DeviceUse", std::move(json)), output));
  } else {
    const Rows nodes = node_table(reader.use(), reader.columns());
    const Rows namespaces = namespace_table(reader.use(), reader.columns());
    if (reader.has_nodes() && nodes.size() > 1) write_out(table(nodes, "") + "\n");
    const auto queues = reader.use().queues();
    const bool has_queues = std::any_of(queues.begin(), queues.end(),
                                        [](const auto& row) { return !row.queue.empty(); });
    if (has_queues) write_out(table(queue_table(reader.use()), "") + "\n");
    if (namespaces.size() > 1) {
      write_out(table(namespaces, ""));
    } else {
      note("no job wants accelerators, and no pod uses any");
    }
  }
  for (const auto& sentence : reader.hidden()) note(sentence);
  return kExitOk;
}

int run_top(const TopFlags& flags) {
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    TopReader reader(api, ns, flags.only_namespace);
    if (auto done = reader.read(); !done) return fail("read accelerators", done.error());
    return print_top(reader, flags.output);
  });
}

}  // namespace

void add_top(Verbs& verbs) {
  verbs.add<TopFlags>(
      {.name = "top",
       .what =
           "Shows how many accelerators are used, free and waited for. Accelerators are extended "
           "resources such as nvidia.com/gpu. For each node: used and free; for each queue and "
           "namespace: wanted by its jobs, placed, and waiting. What you may not see is left out, "
           "and the command says so.",
       .examples = {"top", "top --only-namespace", "top -o json"}},
      define_top, run_top);
}

}  // namespace nervex::cli
