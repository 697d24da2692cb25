#include "server/http/authorizer.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/mutex.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;

// How long a token that was taken back may still be good here.
constexpr auto kReviewAge = 10s;
constexpr std::size_t kMaxReviewed = 4096;

// The API server's refusal to answer us is not the caller's doing: it passes, or a person fixes it.
Error not_now(const Error& error) {
  return {Code::kTransient, "cannot check who asks: " + error.message};
}

bool is_own(const Caller& target, const Caller& self) {
  return is_known(target) && is_known(self) && target.job->meta.uid == self.job->meta.uid;
}

std::string verb_of(const Subject& subject) {
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
  Result<Identity> identify(const RequestHeaders&) override { return Identity{}; }
  Result<Nothing> allow(const Identity&, const Subject&) override { return ok(); }
};

class TokenAuthorizer final : public Authorizer {
 public:
  TokenAuthorizer(kube::Api& api, const Stores& stores, const Clock& clock)
      : api_(api), lookup_(api, stores), clock_(clock) {}

  Result<Identity> identify(const RequestHeaders& headers) override;
  Result<Nothing> allow(const Identity& who, const Subject& subject) override;

 private:
  struct Reviewed {
    MonoTime until{};
    Result<Identity> answer;
  };

  Result<Json> ask(const char* group, const char* plural, const Json& review);
  std::optional<Result<Identity>> remembered(const std::string& token);
  void remember(const std::string& token, const Result<Identity>& answer);
  Result<Caller> find(const std::string& ns, const std::string& pod, const std::string& uid) const;

  kube::Api& api_;
  const Lookup lookup_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Reviewed> reviewed_ GUARDED_BY(mutex_);  // by token
};

Result<Identity> TokenAuthorizer::identify(const RequestHeaders& headers) {
  const auto token = bearer_token(headers);
  if (!token) return token.error();
  if (auto known = remembered(*token)) return *std::move(known);
  const auto reply = ask("authentication.k8s.io", "tokenreviews", token_review(*token));
  if (!reply) return not_now(reply.error());
  auto answer = identity_in(*reply);
  remember(*token, answer);
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
  const JobAccess access{verb_of(subject), subject.ns,
                         is_known(*target) ? target->job->meta.name : ""};
  const auto reply =
      ask("authorization.k8s.io", "subjectaccessreviews", subject_access_review(who, access));
  if (!reply) return not_now(reply.error());
  if (is_allowed(*reply)) return ok();
  return Error{Code::kForbidden,
               fmt::format("{} is no pod of that job, and may not {}", who.user, describe(access))};
}

Result<Json> TokenAuthorizer::ask(const char* group, const char* plural, const Json& review) {
  return kube::create_object(api_, {group, "v1", plural}, "", review);
}

std::optional<Result<Identity>> TokenAuthorizer::remembered(const std::string& token) {
  const MutexLock lock(mutex_);
  const auto at = reviewed_.find(token);
  if (at == reviewed_.end() || at->second.until <= clock_.mono()) return std::nullopt;
  return at->second.answer;
}

void TokenAuthorizer::remember(const std::string& token, const Result<Identity>& answer) {
  const MutexLock lock(mutex_);
  const MonoTime now = clock_.mono();
  if (reviewed_.size() >= kMaxReviewed) {
    std::erase_if(reviewed_, [now](const auto& entry) { return entry.second.until <= now; });
  }
  // Rubbish by the thousands is not worth remembering; asking again is only slower.
  if (reviewed_.size() >= kMaxReviewed) reviewed_.clear();
  reviewed_.insert_or_assign(token, Reviewed{now + kReviewAge, answer});
}

// From the cache if that knows the pod (with that uid, unless it is empty), else from the API
// server.
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
