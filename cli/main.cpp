// nervexctl, also kubectl-nervex: the command line for users.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/gather.h"
#include "cli/text.h"
#include "kube/client.h"
#include "kube/config.h"
#include "view/json.h"

using namespace nervex;

namespace {

struct Flags {
  std::string kubeconfig;
  std::string ns;
  std::string job;
  bool as_json = false;
};

int run_explain(const Flags& flags) {
  const auto config = kube::load_user_config(flags.kubeconfig);
  if (!config) return cli::fail("find the API server", config.error());
  kube::Client api(*config, "nervexctl");
  const std::string ns = flags.ns.empty() ? config->ns : flags.ns;
  std::vector<std::string> left_out;
  const auto seen = cli::gather(api, ns, flags.job, SystemClock().now(), left_out);
  if (!seen) return cli::fail("explain " + ns + "/" + flags.job, seen.error());
  const view::JobView job = view::summarize(*seen);
  std::fputs((flags.as_json ? to_json(job).dump(2) + "\n" : cli::explain(job)).c_str(), stdout);
  for (const auto& note : left_out) {
    std::fprintf(stderr, "nervexctl: %s\n", cli::printable(note).c_str());
  }
  return kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Explains and validates NerveXJobs, changes their replicas, and issues the webhook's "
      "certificates. Installed as kubectl-nervex on the PATH it is the plugin `kubectl nervex`.",
      "nervexctl"};
  app.set_version_flag("--version", "nervexctl " NERVEX_VERSION);
  app.require_subcommand(1);
  Flags flags;
  CLI::App* explain = app.add_subcommand(
      "explain",
      "Shows the state of a job, why it waits, where its pods are placed, and what to do.\nExit "
      "status: 0 success, 1 the job was not found or could not be read, 2 wrong usage.");
  explain->add_option("job", flags.job, "name of the NerveXJob")->required();
  explain->add_option("-n,--namespace", flags.ns,
                      "namespace of the job (default: that of the kubeconfig)");
  std::string format = "text";
  explain->add_option("-o,--output", format, "output format (default: text)")
      ->check(CLI::IsMember({"text", "json"}));
  explain->add_option("--kubeconfig", flags.kubeconfig,
                      "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)");
  cli::CertsFlags certs_flags;
  CLI::App* certs = cli::add_certs_command(app, certs_flags);
  cli::ReplicasFlags replicas_flags;
  CLI::App* replicas = cli::add_replicas_command(app, replicas_flags);
  cli::ValidateFlags validate_flags;
  CLI::App* validate = cli::add_validate_command(app, validate_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  flags.as_json = format == "json";
  if (certs->parsed()) return cli::run_certs(certs_flags);
  if (validate->parsed()) return cli::run_validate(validate_flags);
  return replicas->parsed() ? cli::run_replicas(replicas_flags) : run_explain(flags);
}
