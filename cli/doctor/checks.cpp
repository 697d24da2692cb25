#include "cli/doctor/checks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/duration.h"
#include "certs/x509.h"
#include "cli/failure.h"
#include "cli/text.h"
#include "kube/leader/lease.h"
#include "kube/model/admission.h"
#include "kube/model/server_version.h"

namespace nervex::cli {
namespace {

using Checks = std::vector<Check>;

constexpr const char* kInstall = "install the suite, or update it: docs/tasks/install.md";
constexpr std::chrono::days kExpiresSoon{14};
// More than clocks differ.
constexpr std::chrono::seconds kLeaseTolerance{30};

bool is_denied(const Error& error) {
  return error.code == Code::kForbidden || error.code == Code::kUnauthorized;
}

Check unreadable(const std::string& subject, const Error& error) {
  if (is_denied(error)) {
    return {subject, Health::kHidden, "you may not see it: it is for administrators"};
  }
  return {subject, Health::kBad, error.message, suggest(error)};
}

std::string server_version(const SuiteFacts& facts) {
  return facts.server_version ? kube::string_at(*facts.server_version, {"gitVersion"}) : "";
}

Checks check_api_server(const SuiteFacts& facts) {
  if (!facts.server_version) return {unreadable("API server", facts.server_version.error())};
  Check check{"API server", Health::kGood, "Kubernetes " + server_version(facts)};
  if (!kube::is_supported(server_version(facts))) {
    check.health = Health::kBad;
    check.remedy = fmt::format("upgrade the cluster: the suite needs Kubernetes 1.{} or newer",
                               kube::kOldestMinor);
  }
  return {check};
}

Checks check_resources(const SuiteFacts& facts) {
  const std::string subject = "CustomResourceDefinitions";
  if (!facts.our_resources) {
    const Error& error = facts.our_resources.error();
    if (error.code != Code::kNotFound) return {unreadable(subject, error)};
    return {
        {subject, Health::kBad, "the API server does not know the kinds of the suite", kInstall}};
  }
  std::set<std::string> served;
  for (const auto& resource : kube::array_at(*facts.our_resources, {"resources"})) {
    served.insert(kube::string_at(resource, {"name"}));
  }
  std::vector<std::string> missing;
  for (const char* name :
       {"nervexjobs", "podgroups", "aggregatorconfigs", "queues", "simulations"}) {
    if (!served.contains(name)) missing.emplace_back(name);
  }
  if (missing.empty()) {
    return {{subject, Health::kGood,
             "nervexjobs, podgroups, aggregatorconfigs, queues and simulations are served"}};
  }
  return {
      {subject, Health::kBad, fmt::format("not served: {}", fmt::join(missing, ", ")), kInstall}};
}

std::string certs_command(const SuiteFacts& facts) {
  return "nervexctl certs --install -n " + facts.suite_ns;
}

Checks check_admission(const SuiteFacts& facts) {
  const std::string subject = "Webhook";
  if (facts.wrong_job) {
    return {{subject, Health::kBad, "a wrong job is accepted: the webhook is not asked",
             "install both webhook configurations: docs/tasks/install.md"}};
  }
  const Error& error = facts.wrong_job.error();
  const auto says = [&](std::string_view part) {
    return error.message.find(part) != std::string::npos;
  };
  if (says("nervexjob.kb.io\" denied the request")) {
    return {{subject, Health::kGood, "it answers, and refuses a wrong job"}};
  }
  if (says("failed calling webhook")) {
    return {{subject, Health::kBad, error.message,
             "jobs cannot be created now. Does nervex-webhook run, and is its certificate valid? "
             "kubectl get pods -n " +
                 facts.suite_ns}};
  }
  if (is_denied(error)) {
    return {
        {subject, Health::kHidden,
         fmt::format("you may not create jobs in namespace {}, so it was not asked", facts.ns)}};
  }
  return {{subject, Health::kBad, error.message, suggest(error)}};
}

Check check_expiry(const std::string& subject, const std::string& what, SysTime until,
                   const SuiteFacts& facts) {
  const SysTime now = facts.now;
  const std::string when = to_rfc3339(until);
  const std::string renew = fmt::format(
      "renew it: {}, or cert-manager's Certificate (docs/tasks/operate.md)", certs_command(facts));
  if (until <= now)
    return {subject, Health::kBad, fmt::format("{} expired at {}", what, when), renew};
  const std::string text =
      fmt::format("{} is valid until {}, for {}", what, when, duration_since(now, until));
  if (until - now < kExpiresSoon) return {subject, Health::kWarning, text, renew};
  return {subject, Health::kGood, text};
}

// The one of the PEM's certificates that is valid longest.
std::optional<SysTime> last_expiry(const std::string& pem) {
  std::optional<SysTime> last;
  for (const auto& certificate : certs::split_bundle(pem)) {
    const auto facts = certs::read_certificate(certificate);
    if (facts && (!last || facts->validity.until > *last)) last = facts->validity.until;
  }
  return last;
}

Checks check_authorities(const SuiteFacts& facts) {
  const std::string subject = "Webhook configurations";
  std::optional<SysTime> until;
  for (const auto& configuration : facts.webhook_configurations) {
    if (!configuration) {
      if (configuration.error().code != Code::kNotFound) {
        return {unreadable(subject, configuration.error())};
      }
      return {{subject, Health::kBad, configuration.error().message, kInstall}};
    }
    for (const auto& hook : kube::array_at(*configuration, {"webhooks"})) {
      const auto pem = kube::base64_decode(kube::string_at(hook, {"clientConfig", "caBundle"}));
      const auto expiry = pem ? last_expiry(*pem) : std::nullopt;
      if (!expiry) {
        return {{subject, Health::kBad,
                 fmt::format("{} has no caBundle", kube::string_at(hook, {"name"})),
                 fmt::format("issue certificates: {}, or wait for cert-manager",
                             certs_command(facts))}};
      }
      until = until ? std::min(*until, *expiry) : *expiry;
    }
  }
  if (!until) return {{subject, Health::kBad, "they have no hooks", kInstall}};
  return {check_expiry(subject, "the trusted authority", *until, facts)};
}

Checks check_certificate(const SuiteFacts& facts) {
  const std::string subject = "Webhook certificate";
  if (!facts.serving_secret) {
    const Error& error = facts.serving_secret.error();
    if (error.code != Code::kNotFound) return {unreadable(subject, error)};
    return {{subject, Health::kWarning, "there is no Secret with it in " + facts.suite_ns,
             "if the webhook gets its certificate in another way, nothing; else: " +
                 certs_command(facts)}};
  }
  const auto pem = kube::base64_decode(kube::string_at(*facts.serving_secret, {"data", "tls.crt"}));
  const auto certificate =
      pem ? certs::read_certificate(*pem) : Result<certs::CertificateFacts>(pem.error());
  if (!certificate) {
    return {{subject, Health::kBad, "the Secret holds no certificate",
             certs_command(facts) + " --renew-now"}};
  }
  return {check_expiry(subject, "it", certificate->validity.until, facts)};
}

Check check_lease(const std::string& name, const Result<Json>& object, const SuiteFacts& facts) {
  const std::string subject = "Leader of " + name;
  const std::string look = "does it run? kubectl get deployments,pods -n " + facts.suite_ns;
  if (!object) {
    if (object.error().code != Code::kNotFound) return unreadable(subject, object.error());
    return {subject, Health::kBad, "there has never been one", look};
  }
  const kube::LeaseRecord lease = kube::decode_lease(*object);
  if (lease.holder.empty()) return {subject, Health::kBad, "there is none", look};
  const auto renewed = parse_rfc3339(lease.renew_time);
  if (!renewed || facts.now - *renewed > lease.duration + kLeaseTolerance) {
    return {subject, Health::kBad,
            fmt::format("{} does not renew its lease, last at {}", lease.holder, lease.renew_time),
            look};
  }
  return {subject, Health::kGood, lease.holder};
}

Checks check_leaders(const SuiteFacts& facts) {
  Checks checks;
  for (const auto& [name, lease] : facts.leases) {
    checks.push_back(check_lease(name, lease, facts));
  }
  return checks;
}

// "1.2.3" of "registry.example.com/nervex-server:1.2.3"; "" if it has no tag.
std::string image_version(const std::string& image) {
  const auto colon = image.rfind(':');
  const bool is_tag = colon != std::string::npos && image.find('/', colon) == std::string::npos;
  return is_tag ? image.substr(colon + 1) : "";
}

// Versions of our images in a Deployment.
std::set<std::string> our_versions(const Json& deployment) {
  std::set<std::string> versions;
  for (const auto& container :
       kube::array_at(deployment, {"spec", "template", "spec", "containers"})) {
    const std::string image = kube::string_at(container, {"image"});
    const auto slash = image.rfind('/');
    const std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
    if (name.starts_with("nervex")) versions.insert(image_version(image));
  }
  return versions;
}

// Pods of the present template that are available. 0: the Deployment was changed, and its
// controller has not seen that yet.
std::int64_t updated_pods(const Json& deployment) {
  const bool is_seen = kube::int_at(deployment, {"status", "observedGeneration"}) >=
                       kube::int_at(deployment, {"metadata", "generation"});
  const auto unavailable = kube::int_at(deployment, {"status", "unavailableReplicas"});
  const auto updated = kube::int_at(deployment, {"status", "updatedReplicas"});
  return is_seen ? std::max<std::int64_t>(updated - unavailable, 0) : 0;
}

Checks check_deployments(const SuiteFacts& facts) {
  if (!facts.deployments) return {unreadable("Deployments", facts.deployments.error())};
  Checks checks;
  for (const auto& deployment : kube::array_at(*facts.deployments, {"items"})) {
    const std::string name = kube::string_at(deployment, {"metadata", "name"});
    const auto versions = our_versions(deployment);
    if (versions.empty()) continue;
    const auto wanted = kube::int_at(deployment, {"spec", "replicas"}, 1);
    const auto ready = kube::int_at(deployment, {"status", "readyReplicas"});
    Check check{
        "Deployment " + name, Health::kGood,
        fmt::format("{} of {} pods ready, version {}", ready, wanted, fmt::join(versions, ", "))};
    if (ready < wanted) {
      check.health = ready == 0 ? Health::kBad : Health::kWarning;
      check.remedy = fmt::format("kubectl describe deployment {} -n {}", name, facts.suite_ns);
    } else if (const auto updated = updated_pods(deployment); updated < wanted) {
      // Those that are ready are of the version before: what was changed does not start, perhaps.
      check.health = Health::kWarning;
      check.finding += fmt::format(", but {} of {} updated", updated, wanted);
      check.remedy = fmt::format(
          "wait; if it stays so, kubectl -n {0} get pods shows which pod does not start, "
          "and kubectl -n {0} rollout undo deployment/{1} restores the one before",
          facts.suite_ns, name);
    } else if (!versions.contains(facts.cli_version)) {
      check.health = Health::kWarning;
      check.remedy = fmt::format("this is nervexctl {}: use the one of the suite's version",
                                 facts.cli_version);
    }
    checks.push_back(std::move(check));
  }
  if (checks.empty()) {
    checks.push_back({"Deployments", Health::kWarning,
                      fmt::format("none in namespace {} runs the suite", facts.suite_ns),
                      "if its programs run in another namespace: --system-namespace; else " +
                          std::string(kInstall)});
  }
  return checks;
}

// The image of the kube-scheduler that runs beside the extender; "" if there is none.
std::string scheduler_image(const Json& deployments) {
  for (const auto& deployment : kube::array_at(deployments, {"items"})) {
    if (kube::string_at(deployment, {"metadata", "name"}) != "nervex-scheduler") continue;
    for (const auto& container :
         kube::array_at(deployment, {"spec", "template", "spec", "containers"})) {
      if (kube::string_at(container, {"name"}) == "kube-scheduler") {
        return kube::string_at(container, {"image"});
      }
    }
  }
  return "";
}

// Kubernetes' version skew policy: not newer than the API server, and at most one minor older.
Checks check_scheduler(const SuiteFacts& facts) {
  if (!facts.deployments) return {};  // check_deployments says why
  const std::string version = image_version(scheduler_image(*facts.deployments));
  const auto scheduler = kube::read_minor(version);
  const auto server = kube::read_minor(server_version(facts));
  if (!scheduler || !server) return {};  // an image of the user's own
  Check check{"Version of kube-scheduler", Health::kGood, version};
  if (*scheduler > *server || *scheduler < *server - 1) {
    check.health = Health::kWarning;
    check.finding = fmt::format("{} does not suit Kubernetes {}", version, server_version(facts));
    check.remedy =
        "set its image to the version of the cluster: docs/tasks/install.md, The version of your "
        "cluster";
  }
  return {check};
}

Checks check_rights(const SuiteFacts& facts) {
  std::vector<std::string> missing;
  bool sees_cluster = true;
  for (const auto& right : facts.rights) {
    if (right.is_allowed) continue;
    if (right.ns.empty()) {
      sees_cluster = false;
    } else {
      missing.push_back(right.verb + " " + right.resource);
    }
  }
  Checks checks;
  if (missing.empty()) {
    checks.push_back({"Your rights", Health::kGood, "you may run jobs in namespace " + facts.ns});
  } else {
    checks.push_back(
        {"Your rights", Health::kWarning,
         fmt::format("in namespace {} you may not {}", facts.ns, fmt::join(missing, ", ")),
         fmt::format(
             "to read jobs you need the role view, to run them the role edit: kubectl -n {} "
             "create rolebinding NAME --clusterrole=edit --user=USER",
             facts.ns)});
  }
  if (!sees_cluster) {
    checks.push_back({"Your view", Health::kHidden,
                      "you may not see nodes, or not jobs of all namespaces: `top` and `list -A` "
                      "show less"});
  }
  return checks;
}

Colour health_colour(Health health) {
  switch (health) {
    case Health::kGood:
      return Colour::kGreen;
    case Health::kWarning:
      return Colour::kYellow;
    case Health::kBad:
      return Colour::kRed;
    case Health::kHidden:
      return Colour::kCyan;
  }
  return Colour::kRed;
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kGood:
      return "OK";
    case Health::kWarning:
      return "Warning";
    case Health::kBad:
      return "Failed";
    case Health::kHidden:
      return "Hidden";
  }
  return "";
}

std::vector<Check> examine(const SuiteFacts& facts) {
  constexpr std::array kSteps{check_api_server,  check_resources,   check_admission,
                              check_authorities, check_certificate, check_leaders,
                              check_deployments, check_scheduler,   check_rights};
  Checks checks;
  for (const auto step : kSteps) {
    const Checks more = step(facts);
    checks.insert(checks.end(), more.begin(), more.end());
    // Without an API server all others would say the same.
    if (!facts.server_version) break;
  }
  return checks;
}

std::string to_text(const std::vector<Check>& checks, const Paint& paint) {
  Rows rows;
  for (const auto& check : checks) {
    rows.push_back({paint(health_colour(check.health), to_string(check.health)),
                    printable(check.subject), printable(check.finding)});
    if (!check.remedy.empty()) rows.push_back({"", "", "what to do: " + printable(check.remedy)});
  }
  return table(rows, "");
}

Json to_json(const std::vector<Check>& checks) {
  Json items = Json::array();
  for (const auto& check : checks) {
    Json item = {{"subject", check.subject},
                 {"health", to_string(check.health)},
                 {"finding", check.finding}};
    if (!check.remedy.empty()) item["remedy"] = check.remedy;
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace nervex::cli
