#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/program.h"
#include "certs/cluster.h"
#include "cli/cluster_flags.h"
#include "cli/doctor/checks.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/suite_namespace.h"
#include "cli/verbs/verbs.h"
#include "job/types.h"
#include "kube/leader/lease.h"

namespace nervex::cli {
namespace {

struct DoctorFlags {
  std::string suite_ns;  // as given
  Output output = Output::kText;
  ClusterFlags cluster;
};

constexpr kube::ResourceKind kDeployments{"apps", "v1", "deployments"};
constexpr kube::ResourceKind kSecrets{"", "v1", "secrets"};
constexpr kube::ResourceKind kMutating{"admissionregistration.k8s.io", "v1",
                                       "mutatingwebhookconfigurations"};
constexpr kube::ResourceKind kValidating{"admissionregistration.k8s.io", "v1",
                                         "validatingwebhookconfigurations"};
constexpr kube::ResourceKind kAccessReviews{"authorization.k8s.io", "v1",
                                            "selfsubjectaccessreviews"};

// All checks together, about twenty calls, take at most this long.
constexpr std::chrono::seconds kMaxDuration{60};

void define_doctor(CLI::App& command, DoctorFlags& flags) {
  add_suite_namespace_flag(command, flags.suite_ns);
  add_output_flag(command, flags.output, {Output::kText, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

Result<Json> get_path(kube::Api& api, const std::string& path) {
  const auto body = api.send({"GET", path, "", ""});
  if (!body) return body.error();
  return kube::parse_json(*body);
}

// The schema allows the name; only the webhooks know that no pod can have it.
Result<Nothing> try_wrong_job(kube::Api& api, const std::string& ns) {
  const Json container = {{"name", "nervex-container"}, {"image", "none"}};
  const Json job = {
      {"apiVersion", job::kApiVersion},
      {"kind", job::kKind},
      {"metadata", {{"name", "7-is-no-letter"}}},
      {"spec",
       {{"coordinator", {{"template", {{"spec", {{"containers", Json::array({container})}}}}}}}}}};
  const auto created = kube::create_object(api, kube::kNervexJobs, ns, job, kube::DryRun::kYes);
  if (!created) return created.error();
  return ok();
}

bool may(kube::Api& api, const Right& right) {
  const auto slash = right.resource.find('/');
  const std::string resource = right.resource.substr(0, slash);
  const bool is_ours =
      resource == "nervexjobs" || resource == "podgroups" || resource == "simulations";
  Json attributes = {{"verb", right.verb},
                     {"group", is_ours ? kube::kNervexJobs.group : ""},
                     {"resource", resource},
                     {"namespace", right.ns}};
  if (slash != std::string::npos) attributes["subresource"] = right.resource.substr(slash + 1);
  const auto review =
      kube::create_object(api, kAccessReviews, "",
                          {{"apiVersion", "authorization.k8s.io/v1"},
                           {"kind", "SelfSubjectAccessReview"},
                           {"spec", {{"resourceAttributes", std::move(attributes)}}}});
  return review && kube::bool_at(*review, {"status", "allowed"});
}

std::vector<Right> review_rights(kube::Api& api, const std::string& ns) {
  std::vector<Right> rights = {
      {"list", "nervexjobs", ns},    {"create", "nervexjobs", ns}, {"patch", "nervexjobs", ns},
      {"delete", "nervexjobs", ns},  {"get", "podgroups", ns},     {"list", "pods", ns},
      {"create", "pods", ns},        {"get", "pods/log", ns},      {"list", "events", ns},
      {"create", "simulations", ns}, {"list", "nervexjobs", ""},   {"list", "nodes", ""}};
  for (auto& right : rights) right.is_allowed = may(api, right);
  return rights;
}

// Ordinary users may not read the webhook's configuration, which names the suite's namespace.
std::string describe_assumption(const Error& error, const std::string& ns) {
  const bool is_denied = error.code == Code::kForbidden || error.code == Code::kUnauthorized;
  return fmt::format(
      "{}, so the suite is expected in namespace {}. If it runs elsewhere, name that namespace: "
      "--system-namespace NAME, or the variable NERVEX_SYSTEM_NAMESPACE",
      is_denied ? "you may not read the webhook's configuration"
                : "the webhook's configuration could not be read",
      ns);
}

// Without an answer to the first question the others would each wait for the client's timeout.
SuiteFacts unreachable(const std::string& ns, const Error& error) {
  return {.now = SystemClock().now(),
          .cli_version = NERVEX_VERSION,
          .ns = ns,
          .suite_ns = "",
          .server_version = error,
          .our_resources = error,
          .wrong_job = error,
          .webhook_configurations = {},
          .serving_secret = error,
          .leases = {},
          .deployments = error,
          .rights = {}};
}

SuiteFacts read_facts(kube::Api& api, const std::string& ns, const std::string& given_suite_ns) {
  const Result<Json> version = get_path(api, "/version");
  if (!version) return unreachable(ns, version.error());
  certs::Places places;
  const Result<Json> mutating = kube::get_object(api, kMutating, "", places.mutating);
  places.ns = given_suite_ns.empty() ? suite_namespace(mutating) : given_suite_ns;
  if (given_suite_ns.empty() && !mutating) note(describe_assumption(mutating.error(), places.ns));
  const auto lease = [&](const std::string& name) {
    return SuiteFacts::NamedLease{name, kube::get_object(api, kube::kLeases, places.ns, name)};
  };
  return {.now = SystemClock().now(),
          .cli_version = NERVEX_VERSION,
          .ns = ns,
          .suite_ns = places.ns,
          .server_version = version,
          .our_resources = get_path(api, "/apis/" + std::string(job::kApiVersion)),
          .wrong_job = try_wrong_job(api, ns),
          .webhook_configurations = {mutating,
                                     kube::get_object(api, kValidating, "", places.validating)},
          .serving_secret = kube::get_object(api, kSecrets, places.ns, places.serving_secret),
          .leases = {lease("nervex-controller"), lease("nervex-extender")},
          .deployments = kube::get_object(api, kDeployments, places.ns, ""),
          .rights = review_rights(api, ns)};
}

int run_doctor(const DoctorFlags& flags) {
  const auto work = [&](kube::Api& api, const std::string& ns) {
    const std::vector<Check> checks = examine(read_facts(api, ns, flags.suite_ns));
    const std::string text =
        flags.output == Output::kText
            ? to_text(checks, Paint(has_colours(stdout)))
            : serialize(versioned("CheckList", {{"items", to_json(checks)}}), flags.output);
    write_out(text);
    const bool is_bad = std::any_of(checks.begin(), checks.end(), [](const Check& check) {
      return check.health == Health::kBad;
    });
    return is_bad ? kExitFailure : kExitOk;
  };
  return with_cluster(flags.cluster, work, kMaxDuration);
}

}  // namespace

void add_doctor(Verbs& verbs) {
  verbs.add<DoctorFlags>(
      {.name = "doctor",
       .what =
           "Checks the installation and your rights, and says what to do about each failure. It "
           "checks the custom resources, the webhook and its certificates, the leaders and the "
           "versions. Hidden means that you may not see it. Changes nothing. For other "
           "problems: docs/tasks/troubleshoot.md.",
       .examples = {"doctor", "doctor -o json"},
       .exit_codes = "0 nothing has failed, 1 a check has failed, 2 wrong usage"},
      define_doctor, run_doctor);
}

}  // namespace nervex::cli
