
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/duration.h"
#include "base/program.h"
#include "certs/cluster.h"
#include "certs/files.h"
#include "cli/checked_api.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "kube/client.h"
#include "kube/config.h"

namespace nervex::cli {
namespace {

struct CertsFlags {
  bool install = false;     // into the cluster
  std::string out;          // into this folder
  bool in_cluster = false;  // with the pod's ServiceAccount
  std::string kubeconfig;
  std::string service = "nervex-webhook-service";
  std::vector<std::string> more_names;  // "DNS:..." or "IP:..."
  certs::Places places;
  certs::Terms terms;
  bool dry_run = false;
};

void add_period(CLI::App* command, const std::string& name, std::chrono::seconds& value,
                const std::string& otherwise, const std::string& help) {
  command
      ->add_option_function<std::string>(
          name, [&value](const std::string& text) { value = *parse_period(text); }, help)
      ->check([](const std::string& text) {
        const auto period = parse_period(text);
        return period ? "" : period.error().message;
      })
      ->type_name("PERIOD")
      ->default_str(otherwise);
}

void add_where(CLI::App* command, CertsFlags& flags) {
  auto* install = command->add_flag(
      "--install", flags.install,
      "store the certificates in Secrets, and write caBundle of both webhook configurations");
  command
      ->add_option("--out", flags.out,
                   "store the certificates in this folder: ca.crt, ca.key, tls.crt, tls.key")
      ->type_name("FOLDER")
      ->excludes(install);
  auto* kubeconfig = command->add_option("--kubeconfig", flags.kubeconfig,
                                         "kubeconfig file (default: $KUBECONFIG, else "
                                         "~/.kube/config)");
  command
      ->add_flag("--in-cluster", flags.in_cluster,
                 "connect to the API server with the pod's service account")
      ->excludes(kubeconfig);
  command->add_option("-n,--namespace", flags.places.ns, "namespace of the webhook")
      ->capture_default_str();
}

void add_what(CLI::App* command, CertsFlags& flags) {
  command->add_option("--service", flags.service, "name of the webhook's Service")
      ->capture_default_str();
  command
      ->add_option("--san", flags.more_names,
                   "additional name of the serving certificate; can be repeated")
      ->type_name("DNS:NAME|IP:ADDRESS")
      ->allow_extra_args(false);
  add_period(command, "--valid-for", flags.terms.serving_validity, "90d",
             "validity of a new serving certificate");
  add_period(command, "--renew-before", flags.terms.renew_before, "30d",
             "renew a certificate that expires within this time");
  command->add_flag("--renew-now", flags.terms.renew_now,
                    "issue a new serving certificate regardless of the old one's age");
  command->add_flag("--dry-run", flags.dry_run, "only print what would be done");
}

Result<kube::ConnectionConfig> connection(const CertsFlags& flags) {
  return flags.in_cluster ? kube::load_in_cluster() : kube::load_user_config(flags.kubeconfig);
}

int install(const CertsFlags& flags) {
  const auto config = connection(flags);
  if (!config) return fail("find the API server", config.error());
  kube::Client client(*config, "nervexctl");
  CheckedApi api(client);
  const auto done = certs::install(api, flags.places, flags.terms, SystemClock(), flags.dry_run);
  if (!done) return fail("install certificates", done.error());
  for (const std::string& line : *done) write_out(printable(line) + "\n");
  return kExitOk;
}

int keep_in_folder(const CertsFlags& flags) {
  const SysTime now = SystemClock().now();
  const auto stored = certs::read_folder(flags.out);
  if (!stored) return fail("read the folder", stored.error());
  const certs::RenewalPlan plan = certs::judge(*stored, flags.terms, now);
  const auto wanted = certs::renew(*stored, plan, flags.terms, now);
  if (!wanted) return fail("issue certificates", wanted.error());
  const bool same = *wanted == *stored;
  if (!same && !flags.dry_run) {
    if (auto written = certs::write_folder(flags.out, *wanted); !written) {
      return fail("store certificates", written.error());
    }
  }
  const char* did = same ? "unchanged" : flags.dry_run ? "would be written" : "written";
  write_out(fmt::format("{}: {}\n", flags.out, did));
  return kExitOk;
}

// As one List, for `kubectl apply -f -` or a tool that seals Secrets.
int print(const CertsFlags& flags) {
  const SysTime now = SystemClock().now();
  const auto made = certs::renew({}, certs::judge({}, flags.terms, now), flags.terms, now);
  if (!made) return fail("issue certificates", made.error());
  const Json list = {{"apiVersion", "v1"},
                     {"kind", "List"},
                     {"items", Json::array({certs::authority_secret(flags.places, *made),
                                            certs::serving_secret(flags.places, *made)})}};
  write_out(serialize(list, Output::kJson));
  return kExitOk;
}

void define_certs(CLI::App& command, CertsFlags& flags) {
  add_where(&command, flags);
  add_what(&command, flags);
}

// Prints what was done, or both Secrets if neither --install nor --out is given.
int run_certs(const CertsFlags& given) {
  CertsFlags flags = given;
  // The API server uses the first of these names.
  const std::string name = fmt::format("DNS:{}.{}.svc", flags.service, flags.places.ns);
  flags.terms.names = {name, name + ".cluster.local"};
  for (const std::string& more : flags.more_names) flags.terms.names.push_back(more);
  if (flags.terms.renew_before >= flags.terms.serving_validity) {
    note("--renew-before must be shorter than --valid-for");
    return kExitUsage;
  }
  if (flags.install) return install(flags);
  return flags.out.empty() ? print(flags) : keep_in_folder(flags);
}

}  // namespace

void add_certs(Verbs& verbs) {
  verbs.add<CertsFlags>(
      {.name = "certs",
       .what = "Issues the webhook's certificates, for clusters without cert-manager. These are a "
               "certificate authority for ten years, and a serving certificate. A certificate that "
               "does not expire soon is kept, so the command can run daily.\n"
               "Without --install and --out it prints both Secrets, keys included.",
       .examples = {"certs --install --dry-run", "certs --out certificates"}},
      define_certs, run_certs);
}

}  // namespace nervex::cli
