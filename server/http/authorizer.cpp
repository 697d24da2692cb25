#include "server/http/authorizer.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/counted_turns.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/tls/sha256.h"
#include "server/http/address_identity.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;

// How long a revoked token may still be accepted.
constexpr auto kReviewAge = 10s;
// How long an address is believed to be the pod's that had it, if the cache agrees; and how long
// one is refused for a cause that passes by itself.
constexpr auto kAddressAge = 300s;
constexpr auto kUnknownAddressAge = 1s;
constexpr std::size_t kMaxAnsweredBytes = std::size_t{8} << 20U;
constexpr std::size_t kMaxReason = 300;  // of the API server's reason for refusing a token
constexpr std::size_t kReviewsOfOnePeer = 8;

// The API server's refusal of our own request is not the caller's fault, and may be temporary.
Error not_now(const Error& error) {
  return {Code::kTransient, "cannot authenticate the caller: " + error.message};
}

// Lists the unfinished pods with this primary address, of all namespaces and owners: at most two,
// which are enough to see that it is not one pod's. One tenant can make any number of pods.
std::string pods_by_address_path(std::string_view address) {
  const std::string selector =
      fmt::format("status.podIP={},status.phase!=Succeeded,status.phase!=Failed", address);
  return fmt::format("{}?fieldSelector={}&limit=2", kube::api_path(kube::kPods),
                     kube::percent_encode(selector));
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

// The approximate size of an answer.
std::size_t estimate_bytes(const Result<Identity>& answer) {
  if (!answer) return answer.error().message.size();
  std::size_t bytes = sizeof(Identity) + answer->user.size() + answer->uid.size();
  for (const auto& group : answer->groups) bytes += sizeof(std::string) + group.size();
  constexpr std::size_t kOfOneByteOfJson = 8;
  return bytes + kOfOneByteOfJson * kube::to_text(answer->extra).size();
}

// Who calls, as the API server said a short time ago. Thread-safe.
class Answers {
 public:
  explicit Answers(const Clock& clock) : clock_(clock) {}

  std::optional<Result<Identity>> find(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto* known = answers_.find(key, clock_.mono());
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  void put(const std::string& key, const Result<Identity>& answer, std::chrono::seconds age) {
    const MutexLock lock(mutex_);
    const MonoTime now = clock_.mono();
    answers_.put(key, answer, estimate_bytes(answer), now + age, now);
  }

 private:
  const Clock& clock_;
  Mutex mutex_;
  ExpiringCache<Result<Identity>> answers_ GUARDED_BY(mutex_){kMaxAnsweredBytes};
};

// How long an answer about an address counts.
std::chrono::seconds address_age(const Result<Identity>& answer) {
  if (answer) return kAddressAge;
  return answer.error().code == Code::kTransient ? kUnknownAddressAge : kReviewAge;
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
  TokenAuthorizer(kube::Api& api, const Stores& stores, const Clock& clock, Tokenless tokenless)
      : api_(api), stores_(stores), lookup_(api, stores), clock_(clock), tokenless_(tokenless) {}

  Result<Identity> identify(const RequestHeaders& headers, const std::string& peer) override;
  Result<Nothing> allow(const Identity& who, const Subject& subject) override;

 private:
  Result<Identity> identify_address(const std::string& peer);
  bool has_address(const Identity& pod, const std::string& address) const;
  Result<Json> ask(const char* group, const char* plural, const Json& review);
  Result<Caller> find(const std::string& ns, const std::string& pod, const std::string& uid) const;

  kube::Api& api_;
  const Stores& stores_;
  const Lookup lookup_;
  const Clock& clock_;
  const Tokenless tokenless_;
  CountedTurns reviews_{kReviewsOfOnePeer};
  CountedTurns lists_{1};     // any pod of the cluster can cause one, and two pods may be megabytes
  Answers reviewed_{clock_};  // by the token's hash: tokens have any length and must stay secret
  Answers addresses_{clock_};
};

Result<Identity> TokenAuthorizer::identify(const RequestHeaders& headers, const std::string& peer) {
  const bool is_tokenless = find_header(headers, "authorization") == nullptr;
  if (is_tokenless && tokenless_ == Tokenless::kByAddress) return identify_address(peer);
  const auto token = bearer_token(headers);
  if (!token) return token.error();
  const std::string hash = sha256_hex(*token);
  if (auto known = reviewed_.find(hash)) return *std::move(known);
  const auto turn = reviews_.begin(peer);
  if (!turn) {
    return Error{Code::kTransient, "too many new tokens from this address at once, try again"};
  }
  const auto reply = ask("authentication.k8s.io", "tokenreviews", token_review(*token));
  if (!reply) return not_now(reply.error());
  auto answer = identity_in(*reply);
  if (!answer) answer = Error{answer.error().code, cut_text(answer.error().message, kMaxReason)};
  reviewed_.put(hash, answer, kReviewAge);
  return answer;
}

Result<Identity> TokenAuthorizer::identify_address(const std::string& peer) {
  if (auto known = addresses_.find(peer)) {
    if (!*known || has_address(**known, peer)) return *std::move(known);
  }
  const auto turn = lists_.begin("");  // one key: callers of all addresses share the turn
  if (!turn) {
    return Error{Code::kTransient, "another caller without a token is being looked up, try again"};
  }
  const auto text = api_.send({"GET", pods_by_address_path(peer), "", ""});
  if (!text) return not_now(text.error());
  const auto pods = kube::parse_json(*text);
  if (!pods) return not_now(pods.error());
  auto answer = identify_by_address(peer, *pods);
  addresses_.put(peer, answer, address_age(answer));
  return answer;
}

// According to the cache. A pod that has ended may have left its address to another one.
bool TokenAuthorizer::has_address(const Identity& pod, const std::string& address) const {
  const auto cached = stores_.pods.get(pod.pod_ns + "/" + pod.pod_name);
  return cached && cached->meta.uid == pod.pod_uid && !cached->meta.deleting &&
         !cached->is_finished() && cached->ip == address;
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
  if (who.user.empty()) {
    return Error{Code::kForbidden, "without a token a pod may use its own job only"};
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
                                               const Clock& clock, Tokenless tokenless) {
  return std::make_unique<TokenAuthorizer>(api, stores, clock, tokenless);
}

}  // namespace nervex::server
