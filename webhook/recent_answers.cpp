#include "webhook/recent_answers.h"

#include <utility>
#include <vector>

#include "job/template/syntax.h"
#include "kube/model/json.h"
#include "kube/model/json_hash.h"

namespace nervex::webhook {
namespace {

constexpr kube::ResourceKind kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews"};
constexpr std::size_t kMaxUserBytes = std::size_t{256} << 10U;

// All that an authorizer sees of the user.
void add_user(SipHash& question, const kube::AdmissionRequest& request) {
  question.add(request.user).add(request.user_uid);
  kube::add_array(question, request.groups.size());
  for (const std::string& group : request.groups) question.add(group);
  kube::add_json(question, request.user_extra);
}

std::string access_review(const kube::AdmissionRequest& request, std::string_view ns) {
  Json attributes = {{"verb", "create"}, {"resource", "pods"}};
  if (!ns.empty()) attributes["namespace"] = ns;
  Json spec = {{"user", request.user},
               {"groups", request.groups},
               {"resourceAttributes", std::move(attributes)}};
  if (!request.user_uid.empty()) spec["uid"] = request.user_uid;
  if (request.user_extra.is_object()) spec["extra"] = request.user_extra;
  return kube::to_text({{"apiVersion", "authorization.k8s.io/v1"},
                        {"kind", "SubjectAccessReview"},
                        {"spec", std::move(spec)}});
}

template <typename Answer>
struct Sized {
  Answer answer{};
  std::size_t bytes = 0;
};

}  // namespace

template <typename Answer, typename Ask>
Result<Answer> RecentAnswers::find_or_ask(Kept<Answer>& kept, const SipHash& question,
                                          const MayAsk& may_ask, const Ask& ask) {
  const Hash128 key = question.finish();
  const auto find = [&]() -> std::optional<Answer> {
    const MutexLock lock(kept.mutex);
    const Answer* answer = kept.answers.find(key, clock_.mono());
    if (answer == nullptr) return std::nullopt;
    return std::make_optional(*answer);
  };
  if (auto answer = find()) return *std::move(answer);
  if (may_ask) {
    const auto may = may_ask([&] { return find().has_value(); });
    // Another review may have asked the same while this one waited.
    if (auto answer = find()) return *std::move(answer);
    if (!may) return may.error();
  }
  const MonoTime asked = clock_.mono();
  Result<Sized<Answer>> reply = ask();
  if (!reply) return reply.error();
  if (reply->answer) {
    const MutexLock lock(kept.mutex);
    kept.answers.put(key, reply->answer, reply->bytes, asked + kAge, asked);
  }
  return std::move((*reply).answer);
}

template <typename Answer, typename Decode>
Result<Answer> RecentAnswers::read(Kept<Answer>& kept, const kube::ResourceKind& kind,
                                   std::string_view ns, const std::string& name,
                                   const MayAsk& may_ask, const Decode& decode) {
  if (!name.empty() && !job::pod_template::dns_subdomain_problem(name).empty()) return Answer{};
  SipHash question(key_);
  question.add(kind.plural).add(ns).add(name);
  return find_or_ask(kept, question, may_ask, [&]() -> Result<Sized<Answer>> {
    const auto reply = api_.send(
        {.method = "GET", .path = kube::api_path(kind, ns, name), .body = "", .content_type = ""});
    if (!reply && reply.error().code == Code::kNotFound) return Sized<Answer>{};
    if (!reply) return reply.error();
    return decode(*reply);
  });
}

Result<bool> RecentAnswers::may_create_pods(const kube::AdmissionRequest& request,
                                            std::string_view ns, const MayAsk& may_ask) {
  SipHash question(key_);
  question.add("create pods").add(ns);
  add_user(question, request);
  return find_or_ask(yes_, question, may_ask, [&]() -> Result<Sized<bool>> {
    std::string body = access_review(request, ns);
    if (body.size() > kMaxUserBytes) {
      return Error{Code::kInvalid,
                   "the user's groups and extra fields are too long for a SubjectAccessReview"};
    }
    const auto reply = api_.send({.method = "POST",
                                  .path = kube::api_path(kAccessReviews),
                                  .body = std::move(body),
                                  .content_type = "application/json"});
    if (!reply) return reply.error();
    const auto reviewed = kube::parse_json(*reply, kube::kMaxJsonDepth, {"spec", 0});
    if (!reviewed) return reviewed.error();
    return Sized<bool>{kube::bool_at(*reviewed, {"status", "allowed"})};
  });
}

Result<bool> RecentAnswers::has_aggregator_config(std::string_view ns, const std::string& name,
                                                  const MayAsk& may_ask) {
  return read(yes_, kube::kAggregatorConfigs, ns, name, may_ask, [](const std::string&) {
    return Result(Sized<bool>{true, 0});
  });
}

Result<std::shared_ptr<const kube::Namespace>> RecentAnswers::find_namespace(
    const std::string& name, const MayAsk& may_ask) {
  using Found = Sized<std::shared_ptr<const kube::Namespace>>;
  return read(namespaces_, kube::kNamespaces, "", name, may_ask,
              [](const std::string& reply) -> Result<Found> {
                auto ns = kube::decode_namespace(reply);
                if (!ns) return ns.error();
                return Found{std::make_shared<const kube::Namespace>(*std::move(ns)), reply.size()};
              });
}

Result<std::shared_ptr<const queue::QueueTree>> RecentAnswers::find_queue(const std::string& name,
                                                                          const MayAsk& may_ask) {
  using Found = Sized<std::shared_ptr<const queue::QueueTree>>;
  return read(
      queues_, kube::kQueues, "", name, may_ask, [](const std::string& reply) -> Result<Found> {
        auto parsed = queue::parse_queue(reply);
        if (!parsed) return parsed.error();
        const auto alone = std::make_shared<const queue::Queue>(*std::move(parsed));
        return Found{std::make_shared<const queue::QueueTree>(std::vector{alone}), reply.size()};
      });
}

Result<std::optional<ClassPriority>> RecentAnswers::find_priority(const std::string& name,
                                                                  const MayAsk& may_ask) {
  using Found = Sized<std::optional<ClassPriority>>;
  return read(priorities_, kube::kPriorityClasses, "", name, may_ask,
              [&](const std::string& reply) -> Result<Found> {
                const auto object = kube::parse_json(reply);
                if (!object) return object.error();
                const ClassPriority found =
                    name.empty() ? default_class_priority(*object) : decode_class_priority(*object);
                return Found{found, found.name.size() + found.preemption_policy.size()};
              });
}

}  // namespace nervex::webhook
