#include "server/http/authorizer.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/counted_turns.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/tls/sha256.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;

// How long a revoked token may still be accepted.
constexpr auto kReviewAge = 10s;
constexpr std::size_t kMaxReviewedBytes = std::size_t{8} << 20U;
constexpr std::size_t kMaxReason = 300;  // of the API server's reason for refusing a token
constexpr std::size_t kReviewsOfOnePeer = 8;

// The API server's refusal of our own request is not the caller's fault, and may be temporary.
Error not_now(const Error& error) {
  return {Code::kTransient, "cannot authenticate the caller: " + error.message};
}

bool is_own(const Caller& target, const Caller& self) {
  return is_known(target) && is_known(self) && target.job->meta.uid == self.job->meta.uid;
}

std::string access_verb(const Subject& subject) {
  if (subject.changes) return "patch";
  return subject.pod.empty() ? "list" : "get";
}

std::string describe(const JobAccess& access) {
  const std::string what = access.name.empty() ? "nervexjobs" : "nervexjob " + access.name;
  const std::string where = access.ns.empty() ? "in all namespaces" : "in namespace " + access.ns;
  return fmt::format("{} {} {}", access.verb, what, where);
}

class AllowAll final : public Authorizer {
 public:
  Result<Identity> identify(const RequestHeaders&, const std::string&) override {
    return Identity{};
  }
  Result<Nothing> allow(const Identity&, const Subject&) override { return ok(); }
};

class TokenAuthorizer final : public Authorizer {
 public:
  TokenAuthorizer(kube::Api& api, const Stores& stores, const Clock& clock)
      : api_(api), lookup_(api, stores), clock_(clock) {}

  Result<Identity> identify(const RequestHeaders& headers, const std::string& peer) override;
  Result<Nothing> allow(const Identity& who, const Subject& subject) override;

 private:
  Result<Json> ask(const char* group, const char* plural, const Json& review);
  std::optional<Result<Identity>> remembered(const std::string& token_hash);
  void remember(const std::string& token_hash, const Result<Identity>& answer);
  Result<Caller> find(const std::string& ns, const std::string& pod, const std::string& uid) const;

  kube::Api& api_;
  const Lookup lookup_;
  const Clock& clock_;
  CountedTurns reviews_{kReviewsOfOnePeer};
  Mutex mutex_;
  // By the token's hash: tokens have any length and must stay secret.
  ExpiringCache<Result<Identity>> reviewed_ GUARDED_BY(mutex_){kMaxReviewedBytes};
};

// The approximate size of an answer.
std::size_t estimate_bytes(const Result<Identity>& answer) {
  if (!answer) return answer.error().message.size();
  std::size_t bytes = sizeof(Identity) + answer->user.size() + answer->uid.size();
  for (const auto& group : answer->groups) bytes += sizeof(std::string) + group.size();
  constexpr std::size_t kOfOneByteOfJson = 8;
  return bytes + kOfOneByteOfJson * kube::to_text(answer->extra).size();
}

Result<Identity> TokenAuthorizer::identify(const RequestHeaders& headers, const std::string& peer) {
  const auto token = bearer_token(headers);
  if (!token) return token.error();
  const std::string hash = sha256_hex(*token);
  if (auto known = remembered(hash)) return *std::move(known);
  const auto turn = reviews_.begin(peer);
  if (!turn) {
    return Error{Code::kTransient, "too many new tokens from this address at once, try again"};
  }
  const auto reply = ask("authentication.k8s.io", "tokenreviews", token_review(*token));
  if (!reply) return not_now(reply.error());
  auto answer = identity_in(*reply);
  if (!answer) answer = Error{answer.error().code, cut_text(answer.error().message, kMaxReason)};
  remember(hash, answer);
  return answer;
}

Result<Nothing> TokenAuthorizer::allow(const Identity& who, const Subject& subject) {
  Result<Caller> target = Caller{};
  if (!subject.pod.empty()) {
    target = find(subject.ns, subject.pod, "");
    if (!target) return target.error();
    if (who.is_pod() && who.pod_ns == subject.ns) {
      const auto self = find(who.pod_ns, who.pod_name, who.pod_uid);
      if (!self) return self.error();
      if (self->pod && self->pod->meta.uid == who.pod_uid && is_own(*target, *self)) return ok();
    }
  }
  const JobAccess access{access_verb(subject), subject.ns,
                         is_known(*target) ? target->job->meta.name : ""};
  const auto reply =
      ask("authorization.k8s.io", "subjectaccessreviews", subject_access_review(who, access));
  if (!reply) return not_now(reply.error());
  if (is_allowed(*reply)) return ok();
  return Error{Code::kForbidden, fmt::format("{} is not a pod of that job, and may not {}",
                                             who.user, describe(access))};
}

Result<Json> TokenAuthorizer::ask(const char* group, const char* plural, const Json& review) {
  return kube::create_object(api_, {group, "v1", plural}, "", review);
}

std::optional<Result<Identity>> TokenAuthorizer::remembered(const std::string& token_hash) {
  const MutexLock lock(mutex_);
  const auto* known = reviewed_.find(token_hash, clock_.mono());
  return known == nullptr ? std::nullopt : std::optional(*known);
}

void TokenAuthorizer::remember(const std::string& token_hash, const Result<Identity>& answer) {
  const MutexLock lock(mutex_);
  const MonoTime now = clock_.mono();
  reviewed_.put(token_hash, answer, estimate_bytes(answer), now + kReviewAge, now);
}

// From the cache if it knows the pod (with that uid, unless empty), else from the API server.
Result<Caller> TokenAuthorizer::find(const std::string& ns, const std::string& pod,
                                     const std::string& uid) const {
  Caller cached = lookup_.cached(ns, pod);
  if (is_known(cached) && (uid.empty() || cached.pod->meta.uid == uid)) return cached;
  return lookup_.live(ns, pod);
}

}  // namespace

std::unique_ptr<Authorizer> allow_all() { return std::make_unique<AllowAll>(); }

std::unique_ptr<Authorizer> authorize_by_token(kube::Api& api, const Stores& stores,
                                               const Clock& clock) {
  return std::make_unique<TokenAuthorizer>(api, stores, clock);
}

}  // namespace nervex::server
