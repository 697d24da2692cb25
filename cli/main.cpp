// nervexctl, also kubectl-nervex: the command line for users.
#include <cstdio>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/help/reference_page.h"
#include "cli/verbs/completion.h"
#include "cli/verbs/verbs.h"

using namespace nervex;

int main(int argc, char** argv) {
  const bool is_plugin = std::string_view(argv[0]).ends_with("kubectl-nervex");
  CLI::App app{"Submits, follows, explains, scales and stops NerveXJobs.",
               is_plugin ? "kubectl nervex" : "nervexctl"};
  app.footer(
      "The life of a job, whose file says `name: dqn`:\n"
      "  kubectl nervex submit -f job.yaml           create it; submit --help shows a small file\n"
      "  kubectl nervex list                         does it run?\n"
      "  kubectl nervex explain dqn                  why does it wait, and what helps?\n"
      "  kubectl nervex logs dqn -f                  what does it print?\n"
      "  kubectl nervex scale dqn --collectors 4     more collectors\n"
      "  kubectl nervex suspend dqn                  stop it; resume starts it again\n"
      "  kubectl nervex delete dqn\n"
      "Each verb has --help with examples. nervexctl and kubectl nervex are the same program.");
  app.set_version_flag("--version", "nervexctl " NERVEX_VERSION);
  cli::Verbs verbs(app);
  for (const auto add :
       {cli::add_submit, cli::add_simulate, cli::add_list, cli::add_explain, cli::add_logs,
        cli::add_events, cli::add_wait, cli::add_suspend, cli::add_delete, cli::add_scale,
        cli::add_replicas, cli::add_queue, cli::add_top, cli::add_validate, cli::add_doctor,
        cli::add_certs, cli::add_completion}) {
    add(verbs);
  }
  if (const auto typed = cli::words_to_complete(argc, argv)) {
    return cli::print_completion(app, *typed);
  }
  if (argc == 2 && std::string_view(argv[1]) == "__reference") {  // for docs/reference/cli.md
    std::fputs(cli::reference_page(app).c_str(), stdout);
    return 0;
  }
  return verbs.parse_and_run(argc, argv);
}
