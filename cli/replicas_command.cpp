#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/http/client.h"
#include "base/program.h"
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "kube/config.h"

namespace nervex::cli {
namespace {

constexpr const char* kHelp =
    "Adds, removes, replaces and lists collectors and learners of running jobs, through the HTTP "
    "API\n"
    "that their coordinators use.\n"
    "Exit status: 0 success, 1 the request failed, 2 wrong usage.";

constexpr const char* kFooter =
    "The server is inside the cluster. From outside:\n"
    "  kubectl -n nervex-system port-forward service/nervex-server 8080\n"
    "and then, in another terminal:\n"
    "  nervexctl replicas get\n"
    "  nervexctl replicas add dqn -n rl --collectors 2 --cpus 0.5 --memory 200Mi\n"
    "  nervexctl replicas add dqn -n rl --learners 1 --gpus 10\n"
    "  nervexctl replicas remove dqn -n rl --collectors 1\n"
    "  nervexctl replicas replace dqn -n rl dqn-collector-x2b7k\n"
    "A server with --auth=token requires a token. The service account must have the right to "
    "patch\n"
    "the job (for get: to get it; without a job: to list nervexjobs, in one namespace or in all):\n"
    "  kubectl -n rl create token ACCOUNT --audience nervex-server >token\n"
    "  nervexctl replicas get dqn -n rl --token-file token\n"
    "A server that serves TLS, through the port-forward:\n"
    "  nervexctl replicas get --server https://localhost:8080 --ca-file ca.crt \\\n"
    "    --tls-server-name nervex-server.nervex-system.svc";

void add_reach(CLI::App* command, ReplicasFlags& flags) {
  command->add_option("--server", flags.server, "nervex-server: a URL, or HOST:PORT for plain HTTP")
      ->type_name("URL")
      ->envname("NERVEX_SERVER_URL")
      ->default_str("http://localhost:8080");
  command
      ->add_option("--token-file", flags.token_file,
                   "file with a bearer token, for a server with --auth=token")
      ->type_name("FILE");
  command
      ->add_option("--ca-file", flags.ca_file,
                   "PEM file with the authority that issued the server's certificate (default: "
                   "those of the system)")
      ->type_name("FILE");
  command
      ->add_option("--tls-server-name", flags.tls_server_name,
                   "name that the server's certificate must contain (default: the host of the URL)")
      ->type_name("NAME");
  command
      ->add_option_function<std::string>(
          "-o,--output", [&flags](const std::string& form) { flags.as_json = form == "json"; },
          "output format; json: the data of the reply, unchanged")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("")
      ->default_str("table");
}

void add_job(CLI::App* command, ReplicasFlags& flags) {
  command->add_option("job", flags.ask.job, "name of the NerveXJob")->type_name("JOB");
  command
      ->add_option(
          "-n,--namespace", flags.ask.ns,
          "namespace of the job (default, if a job or pod is named: that of the kubeconfig)")
      ->type_name("NAMESPACE");
  command
      ->add_option("--coordinator", flags.ask.coordinator,
                   "any pod of the job, in place of the job's name")
      ->type_name("POD");
}

CLI::App* add_verb(CLI::App* replicas, ReplicasFlags& flags, ReplicasVerb verb, const char* name,
                   const char* help) {
  CLI::App* command = replicas->add_subcommand(name, help);
  command->callback([&flags, verb] { flags.ask.verb = verb; });
  add_job(command, flags);
  return command;
}

void add_counts(CLI::App* command, ReplicasFlags& flags) {
  for (const auto& [name, count] :
       {std::pair{"collectors", &flags.ask.collectors}, {"learners", &flags.ask.learners}}) {
    command->add_option(fmt::format("--{}", name), *count, fmt::format("number of {}", name))
        ->type_name("N");
  }
}

// For calls that change replicas.
void add_key(CLI::App* command, ReplicasFlags& flags) {
  command
      ->add_option("--idempotency-key", flags.idempotency_key,
                   "repeats of a call with this key change nothing")
      ->type_name("KEY");
}

// Names without a namespace are in the kubeconfig's namespace, as in kubectl. Without a kubeconfig,
// call_for() reports what is missing.
ReplicasAsk with_namespace(ReplicasAsk ask) {
  const bool is_named = !ask.job.empty() || !ask.coordinator.empty() || !ask.aggregator.empty();
  if (!ask.ns.empty() || !is_named) return ask;
  if (const auto config = kube::load_user_config("")) ask.ns = config->ns;
  return ask;
}

Result<HttpClientOptions> make_client_options(const ReplicasFlags& flags) {
  HttpClientOptions options;
  options.url = flags.server.empty() ? "http://localhost:8080" : flags.server;
  if (options.url.find("://") == std::string::npos) options.url = "http://" + options.url;
  options.server_name = flags.tls_server_name;
  if (!flags.ca_file.empty()) {
    auto ca = read_file(flags.ca_file);
    if (!ca) return ca.error();
    options.ca = *std::move(ca);
  }
  return options;
}

Result<std::map<std::string, std::string>> make_headers(const ReplicasFlags& flags) {
  std::map<std::string, std::string> headers;
  if (!flags.idempotency_key.empty()) headers["Idempotency-Key"] = flags.idempotency_key;
  if (flags.token_file.empty()) return headers;
  auto token = read_file(flags.token_file);
  if (!token) return token.error();
  token->erase(token->find_last_not_of(" \t\r\n") + 1);
  headers["Authorization"] = "Bearer " + *token;
  return headers;
}

}  // namespace

CLI::App* add_replicas_command(CLI::App& app, ReplicasFlags& flags) {
  CLI::App* replicas = app.add_subcommand("replicas", kHelp);
  replicas->footer(kFooter);
  replicas->require_subcommand(1);
  replicas->fallthrough();
  add_reach(replicas, flags);

  CLI::App* get = add_verb(replicas, flags, ReplicasVerb::kGet, "get",
                           "Lists the replicas of a job, or of all jobs.");
  get->add_option("--aggregator", flags.ask.aggregator,
                  "list the GPUs of one multi-GPU learner, by its aggregator")
      ->type_name("POD");
  get->add_option("--name", flags.ask.name,
                  "list this replica only; without -n it is searched for in all namespaces")
      ->type_name("POD");

  CLI::App* add = add_verb(replicas, flags, ReplicasVerb::kAdd, "add", "Adds replicas to a job.");
  add_counts(add, flags);
  const char* of_each = "of each replica (default: that of the template)";
  add->add_option("--cpus", flags.ask.cpus, of_each)->type_name("QUANTITY");
  add->add_option("--gpus", flags.ask.gpus,
                  std::string(of_each) + "; a learner with more than one may have several pods")
      ->type_name("N");
  add->add_option("--memory", flags.ask.memory, of_each)->type_name("QUANTITY");

  CLI::App* remove = add_verb(replicas, flags, ReplicasVerb::kRemove, "remove",
                              "Removes replicas of a job, the newest first.");
  add_counts(remove, flags);
  CLI::App* replace =
      add_verb(replicas, flags, ReplicasVerb::kReplace, "replace",
               "Replaces replicas with new ones, as a coordinator does when it has lost them.");
  replace
      ->add_option("pods", flags.ask.pods,
                   "names of pods, or addresses as `replicas get` prints them")
      ->type_name("POD");
  for (CLI::App* changing : {add, remove, replace}) add_key(changing, flags);
  return replicas;
}

int run_replicas(const ReplicasFlags& flags) {
  const auto call = call_for(with_namespace(flags.ask));
  if (!call) {
    std::fprintf(stderr, "nervexctl: %s\n", printable(call.error().message).c_str());
    return kExitUsage;
  }
  const auto options = make_client_options(flags);
  if (!options) return fail("prepare the call", options.error());
  const auto headers = make_headers(flags);
  if (!headers) return fail("prepare the call", headers.error());

  HttpClient client(*options);
  const std::string what = fmt::format("{} {}{}", call->method, options->url, call->path);
  const auto reply = client.send(call->method, call->path, *headers, call->body,
                                 call->body.empty() ? "" : "application/json");
  if (!reply) return fail(what, reply.error());
  const auto data = parse_reply_data(reply->status, reply->body);
  if (!data) {
    const bool again = data.error().code == Code::kTransient;
    return fail(again ? what + ": not done, try again" : what, data.error());
  }
  std::fputs(flags.as_json ? (data->dump(2) + "\n").c_str() : replicas_table(*data).c_str(),
             stdout);
  return kExitOk;
}

}  // namespace nervex::cli
