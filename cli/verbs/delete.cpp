#include <set>

#include <fmt/format.h>

#include "base/duration.h"
#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/jobs/job_choice.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "cli/wait_flags.h"
#include "job/names.h"
#include "kube/model/meta.h"

namespace nervex::cli {
namespace {

struct DeleteFlags {
  JobChoice choice;
  bool wait = false;
  std::chrono::milliseconds timeout{0};
  ClusterFlags cluster;
};

void define_delete(CLI::App& command, DeleteFlags& flags) {
  add_job_choice(command, flags.choice);
  command.add_flag("--wait", flags.wait, "wait until the pods of the jobs are deleted");
  add_timeout_flag(command, flags.timeout);
  add_cluster_flags(command, flags.cluster);
}

std::string controller_uid(const Json& pod) {
  const auto owner = kube::decode_meta(pod).owner;
  return owner ? owner->uid : "";
}

// Waits until no pod of these jobs (by uid) exists.
int wait_for_pods(kube::Api& api, const DeleteFlags& flags, const std::string& ns,
                  const std::set<std::string>& jobs) {
  const Interrupt interrupt(to_limit(flags.timeout));
  std::set<std::string> left;
  FollowCalls calls;
  calls.retries_first_list = true;
  calls.on_lost = [](const Error& error) { note(error.message + "; trying again"); };
  bool is_complete = false;  // the first list was read
  bool is_listed = false;
  calls.on_listed = [&] {
    is_complete = true;
    return is_listed = !left.empty();
  };
  calls.on_object = [&](const std::string& key, const Json* pod) {
    left.erase(key);
    if (pod != nullptr && jobs.contains(controller_uid(*pod))) left.insert(key);
    return !is_listed || !left.empty();
  };
  const std::string path =
      kube::with_label(kube::api_path(kube::kPods, ns), job::kGroupLabel, job::kGroupLabelValue);
  const auto ended = follow(api, path, calls, interrupt.token());
  if (!ended && !interrupt.token().stop_requested())
    return fail("wait for the pods", ended.error());
  if (interrupt.is_interrupted()) return kExitInterrupted;
  if (is_complete && left.empty()) return kExitOk;
  if (!is_complete) {
    note("the pods could not be read within " + format_duration(flags.timeout));
    return kExitFailure;
  }
  note(fmt::format(
      "{} pods still exist, the first is {}: a node that does not answer keeps its pods",
      left.size(), *left.begin()));
  return kExitFailure;
}

int run_delete(const DeleteFlags& flags) {
  if (const std::string wrong = check_choice(flags.choice); !wrong.empty()) {
    note(wrong);
    return kExitUsage;
  }
  const auto work = [&](kube::Api& api, const std::string& ns) {
    std::set<std::string> deleted;  // uids
    const int exit_code = for_each_job(
        api, ns, flags.choice, "delete", Scope::kAllJobs, [&](const Json& job) -> Result<Nothing> {
          const std::string name = kube::string_at(job, {"metadata", "name"});
          const std::string uid = kube::string_at(job, {"metadata", "uid"});
          const auto done = kube::delete_object(api, kube::kNervexJobs, ns, name, uid);
          if (!done) return done.error();
          deleted.insert(uid);
          write_out(printable(qualified_name(name)) + " deleted\n");
          return ok();
        });
    if (!flags.wait || deleted.empty()) return exit_code;
    return std::max(exit_code, wait_for_pods(api, flags, ns, deleted));
  };
  return with_cluster(flags.cluster, work, to_limit(flags.timeout));
}

}  // namespace

void add_delete(Verbs& verbs) {
  verbs.add<DeleteFlags>(
      {.name = "delete",
       .what =
           "Deletes jobs with their pods and services. Their logs and events are lost; `suspend` "
           "stops a job and keeps it.",
       .examples = {"delete dqn", "delete -l team=vision --wait --timeout 2m"},
       .exit_codes = "0 success, 1 a job is missing or could not be deleted, or the timeout came "
                     "first, 2 wrong usage, 130 interrupted"},
      define_delete, run_delete);
}

}  // namespace nervex::cli
