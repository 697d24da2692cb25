#include "certs/cluster.h"

#include <array>

#include <fmt/format.h>

#include "kube/model/admission.h"

namespace nervex::certs {
namespace {

using kube::string_at;

constexpr kube::ResourceKind kSecrets{"", "v1", "secrets"};
constexpr kube::ResourceKind kMutating{"admissionregistration.k8s.io", "v1",
                                       "mutatingwebhookconfigurations"};
constexpr kube::ResourceKind kValidating{"admissionregistration.k8s.io", "v1",
                                         "validatingwebhookconfigurations"};
constexpr int kMaxRounds = 5;

struct Hooks {  // one webhook configuration as read
  kube::ResourceKind kind;
  std::string name;
  Json object;
};

// The input of one round.
struct Seen {
  Json authority;  // Secrets as read; null if absent
  Json serving;
  std::array<Hooks, 2> hooks;
  StoredCerts certs;
};

// Absence is a value here, not an error.
Result<Json> get_if_there(kube::Api& api, const kube::ResourceKind& kind, const std::string& ns,
                          const std::string& name) {
  auto object = kube::get_object(api, kind, ns, name);
  if (!object && object.error().code == Code::kNotFound) return Json();
  return object;
}

std::string decoded(const Json& secret, std::string_view key) {
  const auto text = kube::base64_decode(string_at(secret, {"data", key}));
  return text ? *text : "";
}

std::optional<KeyPair> decode_key_pair(const Json& secret) {
  if (secret.is_null()) return std::nullopt;
  return KeyPair{decoded(secret, "tls.crt"), decoded(secret, "tls.key")};
}

Result<Hooks> read_hooks(kube::Api& api, const kube::ResourceKind& kind, const std::string& name) {
  auto object = kube::get_object(api, kind, "", name);
  if (object) return Hooks{kind, name, *std::move(object)};
  if (object.error().code != Code::kNotFound) return object.error();
  return Error{Code::kNotFound,
               fmt::format("{} {} does not exist: apply the manifests first", kind.plural, name)};
}

// The authorities that callers of one configuration trust and that the serving certificate needs.
// No others: otherwise any writer of caBundle could add an authority to ours.
std::string signers_in(const Hooks& hooks, const std::string& in_use) {
  std::string found;
  for (const Json& hook : kube::array_at(hooks.object, {"webhooks"})) {
    const auto text = kube::base64_decode(string_at(hook, {"clientConfig", "caBundle"}));
    if (!text) continue;
    for (const std::string& one : split_bundle(*text)) {
      if (is_signed_by(in_use, one)) found += one;
    }
  }
  return found;
}

// All authorities to trust until they expire. Normally the authority's Secret lists them. If it was
// lost, trusting only its successor would break all calls until each pod has a new certificate. May
// contain duplicates, which the plan removes.
std::string trusted_so_far(const Seen& seen) {
  std::string found;
  // Split first: an unreadable part must not hide the next.
  for (const Json* secret : {&seen.authority, &seen.serving}) {
    for (const std::string& one : split_bundle(decoded(*secret, "ca.crt"))) found += one;
  }
  const std::string in_use = decoded(seen.serving, "tls.crt");
  for (const Hooks& hooks : seen.hooks) found += signers_in(hooks, in_use);
  return found;
}

Result<Seen> look(kube::Api& api, const Places& places) {
  Seen seen;
  auto authority = get_if_there(api, kSecrets, places.ns, places.authority_secret);
  if (!authority) return authority.error();
  auto serving = get_if_there(api, kSecrets, places.ns, places.serving_secret);
  if (!serving) return serving.error();
  auto mutating = read_hooks(api, kMutating, places.mutating);
  if (!mutating) return mutating.error();
  auto validating = read_hooks(api, kValidating, places.validating);
  if (!validating) return validating.error();
  seen.authority = *std::move(authority);
  seen.serving = *std::move(serving);
  seen.hooks = {*std::move(mutating), *std::move(validating)};
  seen.certs = {decode_key_pair(seen.authority), trusted_so_far(seen),
                decode_key_pair(seen.serving)};
  return seen;
}

Json secret(const std::string& ns, const std::string& name, const KeyPair& pair,
            const std::string& bundle) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata",
           {{"name", name},
            {"namespace", ns},
            {"labels",
             {{"app.kubernetes.io/part-of", "nervex"},
              {"app.kubernetes.io/managed-by", "nervexctl"}}}}},
          {"type", "kubernetes.io/tls"},
          {"data",
           {{"tls.crt", kube::base64_encode(pair.cert)},
            {"tls.key", kube::base64_encode(pair.key)},
            {"ca.crt", kube::base64_encode(bundle)}}}};
}

// Creates it, or replaces the data of the version read.
Result<Nothing> store(kube::Api& api, const Json& wanted, const Json& seen) {
  const std::string ns = string_at(wanted, {"metadata", "namespace"});
  const std::string name = string_at(wanted, {"metadata", "name"});
  const auto stored =
      seen.is_null()
          ? kube::create_object(api, kSecrets, ns, wanted)
          : kube::merge_patch(
                api, kSecrets, ns, name,
                {{"metadata",
                  {{"resourceVersion", string_at(seen, {"metadata", "resourceVersion"})}}},
                 {"data", wanted["data"]}});
  if (!stored) return with_context(fmt::format("store secret {}/{}", ns, name), stored.error());
  return ok();
}

// The hooks, each with this bundle; null if all have it already.
Json with_bundle(const Json& configuration, const std::string& bundle) {
  const std::string text = kube::base64_encode(bundle);
  Json hooks = kube::array_at(configuration, {"webhooks"});
  bool changed = false;
  for (Json& hook : hooks) {
    if (string_at(hook, {"clientConfig", "caBundle"}) == text) continue;
    hook["clientConfig"]["caBundle"] = text;
    changed = true;
  }
  return changed ? hooks : Json();
}

// A merge patch replaces the whole list; the version read makes that safe.
Result<Nothing> trust(kube::Api& api, const Hooks& seen, const Json& hooks) {
  const auto stored = kube::merge_patch(
      api, seen.kind, "", seen.name,
      {{"metadata", {{"resourceVersion", string_at(seen.object, {"metadata", "resourceVersion"})}}},
       {"webhooks", hooks}});
  if (!stored) return with_context(fmt::format("write caBundle of {}", seen.name), stored.error());
  return ok();
}

std::string ends(const KeyPair& pair) {
  const auto facts = read_certificate(pair.cert);
  return facts ? "valid until " + to_rfc3339(facts->validity.until) : "unreadable";
}

std::string sentence(const std::string& what, const std::string& why, const std::string& kept,
                     const KeyPair& now, bool dry_run) {
  if (why.empty()) return fmt::format("{}: {}, {}", what, kept, ends(now));
  return fmt::format("{}: {} because {}, {}", what, dry_run ? "would be issued" : "issued", why,
                     ends(now));
}

// One attempt on one reading. kConflict: another write came in between.
class Round {
 public:
  Round(kube::Api& api, const Places& places, bool dry_run)
      : api_(api), places_(places), dry_run_(dry_run) {}

  Result<std::vector<std::string>> run(const Terms& terms, SysTime now) {
    const auto seen = look(api_, places_);
    if (!seen) return seen.error();
    const RenewalPlan verdict = judge(seen->certs, terms, now);
    const auto wanted = renew(seen->certs, verdict, terms, now);
    if (!wanted) return wanted.error();
    if (auto done = keep_authority(*seen, verdict, *wanted); !done) return done.error();
    for (const Hooks& hooks : seen->hooks) {
      if (auto done = keep_trust(hooks, wanted->bundle); !done) return done.error();
    }
    if (auto done = keep_serving(*seen, verdict, *wanted); !done) return done.error();
    return said_;
  }

 private:
  Result<Nothing> keep_authority(const Seen& seen, const RenewalPlan& verdict,
                                 const StoredCerts& wanted) {
    const bool same = seen.certs.authority == wanted.authority &&
                      decoded(seen.authority, "ca.crt") == wanted.bundle;
    if (!same && !dry_run_) {
      if (auto done = store(api_, authority_secret(places_, wanted), seen.authority); !done)
        return done;
    }
    said_.push_back(sentence("secret " + places_.authority_secret, verdict.new_authority,
                             same ? "unchanged" : "trusted authorities updated", *wanted.authority,
                             dry_run_));
    return ok();
  }

  Result<Nothing> keep_trust(const Hooks& seen, const std::string& bundle) {
    const Json hooks = with_bundle(seen.object, bundle);
    if (!hooks.is_null() && !dry_run_) {
      if (auto done = trust(api_, seen, hooks); !done) return done;
    }
    const char* what = hooks.is_null() ? "unchanged" : dry_run_ ? "would be written" : "written";
    said_.push_back(fmt::format("caBundle of {}: {}", seen.name, what));
    return ok();
  }

  Result<Nothing> keep_serving(const Seen& seen, const RenewalPlan& verdict,
                               const StoredCerts& wanted) {
    if (!verdict.new_serving.empty() && !dry_run_) {
      if (auto done = store(api_, serving_secret(places_, wanted), seen.serving); !done)
        return done;
    }
    said_.push_back(sentence("secret " + places_.serving_secret, verdict.new_serving, "unchanged",
                             *wanted.serving, dry_run_));
    return ok();
  }

  kube::Api& api_;
  const Places& places_;
  const bool dry_run_;
  std::vector<std::string> said_;
};

}  // namespace

Json authority_secret(const Places& places, const StoredCerts& certs) {
  return secret(places.ns, places.authority_secret, *certs.authority, certs.bundle);
}

Json serving_secret(const Places& places, const StoredCerts& certs) {
  return secret(places.ns, places.serving_secret, *certs.serving, certs.bundle);
}

Result<std::vector<std::string>> install(kube::Api& api, const Places& places, const Terms& terms,
                                         const Clock& clock, bool dry_run) {
  for (int round = 1;; ++round) {
    auto said = Round(api, places, dry_run).run(terms, clock.now());
    if (said || said.error().code != Code::kConflict) return said;
    if (round == kMaxRounds) {
      return with_context(fmt::format("{} conflicts with other writers", round), said.error());
    }
  }
}

}  // namespace nervex::certs
