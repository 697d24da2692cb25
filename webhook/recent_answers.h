// webhook/recent_answers.h - what did the API server say a few seconds ago about users and objects?
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "base/sip_hash.h"
#include "kube/api.h"
#include "kube/model/admission.h"
#include "kube/model/namespace.h"
#include "queue/tree.h"
#include "webhook/fair_turns.h"
#include "webhook/priorities.h"

namespace nervex::webhook {

// Asks the API server, and keeps decoded answers for a few seconds, since each new job causes the
// same questions. Negative answers (no right, no such object) are not kept, so a user's fix takes
// effect at once; a revoked right remains valid for that time.
//
// `may_ask`, if given, is called when no answer is kept; its error is then the answer. An Error is
// the API server's, or about an object that cannot be read. A name that no object can have is not
// sent: the API server would parse it as a path.
//
// Thread-safe. Bounded in bytes: questions are kept as hashes.
class RecentAnswers {
 public:
  static constexpr std::chrono::seconds kAge{5};
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20U;

  // Both are borrowed. `api` should wait at most a second.
  RecentAnswers(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}
  RecentAnswers(const RecentAnswers&) = delete;
  RecentAnswers& operator=(const RecentAnswers&) = delete;

  // Whether the user of `request` may create pods in that namespace; "": in all. kInvalid: the
  // user's groups and extra fields exceed 256 KiB, which would be sent, echoed by the API server,
  // and parsed.
  Result<bool> may_create_pods(const kube::AdmissionRequest& request, std::string_view ns,
                               const MayAsk& may_ask = {});
  Result<bool> has_aggregator_config(std::string_view ns, const std::string& name,
                                     const MayAsk& may_ask = {});
  // Null: there is none.
  Result<std::shared_ptr<const kube::Namespace>> find_namespace(const std::string& name,
                                                                const MayAsk& may_ask = {});
  // A tree of this queue alone. Null: there is none.
  Result<std::shared_ptr<const queue::QueueTree>> find_queue(const std::string& name,
                                                             const MayAsk& may_ask = {});
  // Of a PriorityClass; "": of pods without one. nullopt: there is none.
  Result<std::optional<ClassPriority>> find_priority(const std::string& name,
                                                     const MayAsk& may_ask = {});

 private:
  template <typename Answer>
  struct Kept {
    Mutex mutex;
    ExpiringCache<Answer, Hash128> answers GUARDED_BY(mutex){kMaxBytes / 4};
  };
  // `ask`, and `decode` of the API server's reply, return the answer and its size in bytes.
  template <typename Answer, typename Ask>
  Result<Answer> find_or_ask(Kept<Answer>& kept, const SipHash& question, const MayAsk& may_ask,
                             const Ask& ask);
  template <typename Answer, typename Decode>
  Result<Answer> read(Kept<Answer>& kept, const kube::ResourceKind& kind, std::string_view ns,
                      const std::string& name, const MayAsk& may_ask, const Decode& decode);

  kube::Api& api_;
  const Clock& clock_;
  const SipHash::Key key_ = SipHash::random_key();
  Kept<bool> yes_;  // rights, and objects that exist
  Kept<std::shared_ptr<const kube::Namespace>> namespaces_;
  Kept<std::shared_ptr<const queue::QueueTree>> queues_;
  Kept<std::optional<ClassPriority>> priorities_;
};

}  // namespace nervex::webhook
