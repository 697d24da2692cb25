#include "cli/jobs/explain.h"

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/jobs/gather.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "view/json.h"

namespace nervex::cli {
namespace {

struct ExplainFlags {
  std::string job;
  Output output = Output::kText;
  ClusterFlags cluster;
};

void define_explain(CLI::App& command, ExplainFlags& flags) {
  command.add_option("job", flags.job, "name of the NerveXJob")->required()->type_name("JOB");
  add_output_flag(command, flags.output, {Output::kText, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

int run_explain(const ExplainFlags& flags) {
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    std::vector<std::string> left_out;
    const auto seen = gather(api, ns, flags.job, SystemClock().now(), left_out);
    if (!seen) return fail("explain " + ns + "/" + flags.job, seen.error());
    const view::JobView job = view::summarize(*seen);
    Json json = to_json(job);
    if (!left_out.empty()) json["leftOut"] = left_out;
    const std::string text = flags.output == Output::kText
                                 ? explain(job)
                                 : serialize(versioned("JobView", json), flags.output);
    write_out(text);
    for (const auto& missing : left_out) note(missing);
    return kExitOk;
  });
}

}  // namespace

void add_explain(Verbs& verbs) {
  verbs.add<ExplainFlags>(
      {.name = "explain",
       .what = "Says why a job waits, where its pods run, and what to do.",
       .examples = {"explain dqn", "explain dqn -o json"},
       .exit_codes = "0 success, 1 the job was not found or could not be read, 2 wrong usage"},
      define_explain, run_explain);
}

}  // namespace nervex::cli
