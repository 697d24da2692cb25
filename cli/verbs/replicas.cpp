#include <map>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/http/client.h"
#include "base/program.h"
#include "base/read_file.h"
#include "cli/checked_api.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/replicas/call.h"
#include "cli/replicas/port_forward.h"
#include "cli/suite_namespace.h"
#include "cli/verbs/verbs.h"
#include "kube/client.h"

namespace nervex::cli {
namespace {

struct ReplicasFlags {
  ReplicasAsk ask;
  std::string server;  // a URL, or HOST:PORT
  std::string token_file;
  std::string ca_file;
  std::string tls_server_name;
  std::string idempotency_key;
  std::string suite_ns;  // as given
  Output output = Output::kTable;
  ClusterFlags cluster;
};

void add_reach(CLI::App& command, ReplicasFlags& flags) {
  command
      .add_option("--server", flags.server,
                  "nervex-server: a URL, or HOST:PORT for plain HTTP (default: through `kubectl "
                  "port-forward`)")
      ->type_name("URL")
      ->envname("NERVEX_SERVER_URL");
  command
      .add_option("--token-file", flags.token_file,
                  "file with a bearer token, for a server with --auth=token")
      ->type_name("FILE");
  command
      .add_option("--ca-file", flags.ca_file,
                  "PEM file with the authority that issued the server's certificate (default: "
                  "those of the system)")
      ->type_name("FILE");
  command
      .add_option("--tls-server-name", flags.tls_server_name,
                  "name that the server's certificate must contain (default: the host of the URL)")
      ->type_name("NAME");
  add_suite_namespace_flag(command, flags.suite_ns);
  add_output_flag(command, flags.output, {Output::kTable, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

void add_job(CLI::App& command, ReplicasFlags& flags) {
  command.add_option("job", flags.ask.job, "name of the NerveXJob")->type_name("JOB");
  command
      .add_option("--coordinator", flags.ask.coordinator,
                  "any pod of the job, in place of the job's name")
      ->type_name("POD");
}

void add_counts(CLI::App& command, ReplicasFlags& flags) {
  for (const auto& [name, count] :
       {std::pair{"collectors", &flags.ask.collectors}, {"learners", &flags.ask.learners}}) {
    command.add_option(fmt::format("--{}", name), *count, fmt::format("number of {}", name))
        ->type_name("N");
  }
}

// For calls that change replicas.
void add_key(CLI::App& command, ReplicasFlags& flags) {
  command
      .add_option("--idempotency-key", flags.idempotency_key,
                  "repeats of a call with this key change nothing")
      ->type_name("KEY");
}

// Names without a namespace are in the kubeconfig's namespace, as in kubectl. Without a kubeconfig,
// call_for() reports what is missing.
ReplicasAsk with_namespace(const ReplicasFlags& flags) {
  ReplicasAsk ask = flags.ask;
  ask.ns = flags.cluster.ns;
  const bool is_named = !ask.job.empty() || !ask.coordinator.empty() || !ask.aggregator.empty();
  if (!ask.ns.empty() || !is_named) return ask;
  if (const auto config = load_connection(flags.cluster)) ask.ns = config->ns;
  return ask;
}

// Without a kubeconfig the default: kubectl says what is missing.
std::string read_suite_namespace(const ReplicasFlags& flags) {
  if (!flags.suite_ns.empty()) return flags.suite_ns;
  const auto config = load_connection(flags.cluster);
  if (!config) return suite_namespace(config.error());
  kube::Client client(*config, "nervexctl");
  CheckedApi api(client);
  return find_suite_namespace(api, "");
}

// The server's URL, and the name that its certificate must contain if that is not the URL's host.
struct Server {
  std::string url;
  std::string name;
};

// Without --server through a port-forward, which must outlive the calls.
Result<Server> find_server(const ReplicasFlags& flags, std::optional<PortForward>& forward) {
  if (!flags.server.empty()) {
    const bool has_scheme = flags.server.find("://") != std::string::npos;
    return Server{has_scheme ? flags.server : "http://" + flags.server, flags.tls_server_name};
  }
  const std::string ns = read_suite_namespace(flags);
  auto started = PortForward::start(flags.cluster, ns);
  if (!started) {
    return with_context(
        fmt::format("reach nervex-server in namespace {} (neither --server nor NERVEX_SERVER_URL "
                    "is given; if it runs in another namespace: --system-namespace or "
                    "NERVEX_SYSTEM_NAMESPACE)",
                    ns),
        started.error());
  }
  forward.emplace(*std::move(started));
  const bool has_tls = !flags.ca_file.empty() || !flags.tls_server_name.empty();
  return Server{fmt::format("{}://127.0.0.1:{}", has_tls ? "https" : "http", forward->port()),
                flags.tls_server_name.empty() ? fmt::format("nervex-server.{}.svc", ns)
                                              : flags.tls_server_name};
}

Result<HttpClientOptions> make_client_options(const ReplicasFlags& flags,
                                              std::optional<PortForward>& forward) {
  auto server = find_server(flags, forward);
  if (!server) return server.error();
  HttpClientOptions options;
  options.url = std::move(server->url);
  options.server_name = std::move(server->name);
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

void define_get(CLI::App& command, ReplicasFlags& flags) {
  flags.ask.verb = ReplicasVerb::kGet;
  add_job(command, flags);
  command
      .add_option("--aggregator", flags.ask.aggregator,
                  "list the GPUs of one multi-GPU learner, by its aggregator")
      ->type_name("POD");
  command
      .add_option("--name", flags.ask.name,
                  "list this replica only; without -n it is searched for in all namespaces")
      ->type_name("POD");
  add_reach(command, flags);
}

void define_add(CLI::App& command, ReplicasFlags& flags) {
  flags.ask.verb = ReplicasVerb::kAdd;
  add_job(command, flags);
  add_counts(command, flags);
  const char* of_each = "of each replica (default: that of the template)";
  command.add_option("--cpus", flags.ask.cpus, of_each)->type_name("QUANTITY");
  command
      .add_option("--gpus", flags.ask.gpus,
                  std::string(of_each) + "; a learner with more than one may have several pods")
      ->type_name("N");
  command.add_option("--memory", flags.ask.memory, of_each)->type_name("QUANTITY");
  add_key(command, flags);
  add_reach(command, flags);
}

void define_remove(CLI::App& command, ReplicasFlags& flags) {
  flags.ask.verb = ReplicasVerb::kRemove;
  add_job(command, flags);
  add_counts(command, flags);
  add_key(command, flags);
  add_reach(command, flags);
}

void define_replace(CLI::App& command, ReplicasFlags& flags) {
  flags.ask.verb = ReplicasVerb::kReplace;
  add_job(command, flags);
  command
      .add_option("pods", flags.ask.pods,
                  "names of pods, or addresses as `replicas get` prints them")
      ->type_name("POD");
  add_key(command, flags);
  add_reach(command, flags);
}

// As fail(), for errors of nervex-server: the API server's suggestions do not apply.
int fail_call(const std::string& what, const Error& error) {
  note(fmt::format("{}: {}", what, error.message));
  if (error.message.starts_with("401")) {
    note(
        "the server asks for a token: give --token-file (kubectl create token ACCOUNT --audience "
        "nervex-server)");
  }
  return kExitFailure;
}

std::string_view name_of(ReplicasVerb verb) {
  switch (verb) {
    case ReplicasVerb::kGet:
      return "get";
    case ReplicasVerb::kAdd:
      return "add";
    case ReplicasVerb::kRemove:
      return "remove";
    case ReplicasVerb::kReplace:
      return "replace";
  }
  return "";
}

// "replicas add dqn", without the other flags.
std::string describe_ask(const ReplicasAsk& ask) {
  std::string text = fmt::format("replicas {}", name_of(ask.verb));
  for (const std::string* about : {&ask.job, &ask.coordinator, &ask.aggregator, &ask.name}) {
    if (!about->empty()) text += " " + *about;
  }
  return text;
}

int run_replicas(const ReplicasFlags& flags) {
  const auto call = call_for(with_namespace(flags));
  if (!call) {
    note(call.error().message);
    return kExitUsage;
  }
  std::optional<PortForward> forward;
  const auto options = make_client_options(flags, forward);
  if (!options) {
    fail(describe_ask(flags.ask), options.error());
    note(
        "give the server's address with --server or NERVEX_SERVER_URL. `kubectl nervex scale` "
        "needs "
        "no server");
    return kExitFailure;
  }
  const auto headers = make_headers(flags);
  if (!headers) return fail(describe_ask(flags.ask), headers.error());

  HttpClient client(*options);
  const std::string what =
      fmt::format("{}: {} {}{}", describe_ask(flags.ask), call->method, options->url, call->path);
  const auto reply = client.send(call->method, call->path, *headers, call->body,
                                 call->body.empty() ? "" : "application/json");
  if (!reply) return fail_call(what, reply.error());
  const auto data = parse_reply_data(reply->status, reply->body);
  if (!data) {
    const bool again = data.error().code == Code::kTransient;
    return fail_call(again ? what + ": not done, try again" : what, data.error());
  }
  const std::string text =
      flags.output == Output::kTable ? replicas_table(*data) : serialize(*data, flags.output);
  write_out(text);
  return kExitOk;
}

}  // namespace

void add_replicas(Verbs& verbs) {
  CLI::App& group = verbs.add_group(
      "replicas",
      "Requests and removes replicas of running jobs, as coordinators do. The calls go to "
      "nervex-server. To set the number that a job starts with: `scale`.\n"
      "Without --server and NERVEX_SERVER_URL the server is reached through `kubectl "
      "port-forward`, which needs that right in the suite's namespace.\n"
      "A server with --auth=token requires a token of an account that may patch the job (for get: "
      "get it; without a job: list nervexjobs):\n"
      "  kubectl -n rl create token ACCOUNT --audience nervex-server >token");
  verbs.add_to<ReplicasFlags>(group,
                              {.name = "get",
                               .what = "Lists the replicas of a job, or of all jobs.",
                               .examples = {"replicas get", "replicas get dqn --token-file token"}},
                              define_get, run_replicas);
  verbs.add_to<ReplicasFlags>(
      group,
      {.name = "add",
       .what = "Requests more replicas for a running job, as its coordinator does.",
       .examples = {"replicas add dqn --collectors 2 --cpus 0.5 --memory 200Mi",
                    "replicas add dqn --learners 1 --gpus 10"}},
      define_add, run_replicas);
  verbs.add_to<ReplicasFlags>(group,
                              {.name = "remove",
                               .what = "Removes replicas of a running job, the newest first.",
                               .examples = {"replicas remove dqn --collectors 1"}},
                              define_remove, run_replicas);
  verbs.add_to<ReplicasFlags>(
      group,
      {.name = "replace",
       .what = "Replaces replicas with new ones, as a coordinator does when it has lost them.",
       .examples = {"replicas replace dqn dqn-collector-x2b7k",
                    "replicas replace --coordinator dqn-coordinator dqn-collector-x2b7k"}},
      define_replace, run_replicas);
}

}  // namespace nervex::cli
