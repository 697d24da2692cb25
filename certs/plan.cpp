#include "certs/plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace nervex::certs {
namespace {

using std::chrono::days;
using std::chrono::seconds;

constexpr const char* kAuthorityName = "nervex-ca";
constexpr auto kClockSkew = std::chrono::minutes(5);  // another clock may be behind or ahead

// Created by a clock that was far ahead: not accepted before then.
bool is_yet_to_begin(const Validity& validity, SysTime now) {
  return validity.from > now + kClockSkew;
}

// Why a certificate with this validity cannot serve or sign; empty if it can.
std::string fault_of_time(const Validity& validity, seconds renew_before, SysTime now) {
  if (is_yet_to_begin(validity, now)) {
    return fmt::format("it is not valid before {}", to_rfc3339(validity.from));
  }
  if (validity.until < now + renew_before) {
    return fmt::format("it expires on {}", to_rfc3339(validity.until));
  }
  return "";
}

// Why this authority cannot continue to sign; empty if it can.
std::string fault_of_authority(const StoredCerts& stored, const Terms& terms, SysTime now) {
  if (!stored.authority) return "it does not exist";
  const auto facts = read_certificate(stored.authority->cert);
  if (!facts) return facts.error().message;
  if (!facts->is_authority) return "it is not a CA certificate";
  if (!key_fits(*stored.authority)) return "its key is missing, unreadable or does not match";
  return fault_of_time(facts->validity, terms.authority_renew_before, now);
}

bool is_signed_by_any(const std::string& cert, const std::vector<std::string>& authorities) {
  return std::any_of(authorities.begin(), authorities.end(),
                     [&](const std::string& one) { return is_signed_by(cert, one); });
}

// Why the serving certificate cannot stay; empty if it can. `trusted`: by the callers.
std::string fault_of_serving(const StoredCerts& stored, const std::vector<std::string>& trusted,
                             const Terms& terms, SysTime now) {
  if (!stored.serving) return "it does not exist";
  if (terms.renew_now) return "--renew-now was given";
  const auto facts = read_certificate(stored.serving->cert);
  if (!facts) return facts.error().message;
  if (!key_fits(*stored.serving)) return "its key is missing, unreadable or does not match";
  for (const std::string& name : terms.names) {
    const std::string written = name_as_read(name);
    if (std::find(facts->names.begin(), facts->names.end(), written) == facts->names.end()) {
      return fmt::format("it does not contain the name {}", name);
    }
  }
  if (!is_signed_by_any(stored.serving->cert, trusted))
    return "it is not signed by a trusted authority";
  return fault_of_time(facts->validity, terms.renew_before, now);
}

// Earlier authorities, oldest bundle entries last. Drops an unreadable rest.
std::vector<std::string> earlier_authorities(const StoredCerts& stored) {
  std::vector<std::string> found;
  if (stored.authority) found = split_bundle(stored.authority->cert);
  for (auto& one : split_bundle(stored.bundle)) found.push_back(std::move(one));
  return found;
}

bool is_usable_authority(const std::string& pem, SysTime now) {
  const auto facts = read_certificate(pem);
  return facts && facts->is_authority && facts->validity.until > now &&
         !is_yet_to_begin(facts->validity, now);
}

Validity from_now(SysTime now, seconds length) { return {now - kClockSkew, now + length}; }

}  // namespace

std::string bundle_with(const std::string& authority, const StoredCerts& stored, SysTime now) {
  std::vector<std::string> kept = split_bundle(authority);
  for (const std::string& one : earlier_authorities(stored)) {
    const bool is_new = std::find(kept.begin(), kept.end(), one) == kept.end();
    if (is_new && is_usable_authority(one, now)) kept.push_back(one);
  }
  std::string joined;
  for (const std::string& one : kept) joined += one;
  return joined;
}

RenewalPlan judge(const StoredCerts& stored, const Terms& terms, SysTime now) {
  const auto trusted = split_bundle(bundle_with("", stored, now));
  return {fault_of_authority(stored, terms, now), fault_of_serving(stored, trusted, terms, now)};
}

Result<StoredCerts> renew(const StoredCerts& stored, const RenewalPlan& verdict, const Terms& terms,
                          SysTime now) {
  StoredCerts wanted = stored;
  if (!verdict.new_authority.empty()) {
    wanted.authority = make_authority(kAuthorityName, from_now(now, terms.authority_validity));
  }
  wanted.bundle = bundle_with(wanted.authority->cert, stored, now);
  if (verdict.new_serving.empty()) return wanted;
  Validity validity = from_now(now, terms.serving_validity);
  const auto authority = read_certificate(wanted.authority->cert);
  if (!authority) return authority.error();
  validity.until = std::min(validity.until, authority->validity.until);
  auto issued = issue_serving(*wanted.authority, terms.names, validity);
  if (!issued) return issued.error();
  wanted.serving = *std::move(issued);
  return wanted;
}

}  // namespace nervex::certs
