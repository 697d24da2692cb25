#include "webhook/routes.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/http/request_metrics.h"
#include "base/log.h"
#include "webhook/answer.h"
#include "webhook/bounded.h"
#include "webhook/facts.h"
#include "webhook/fair_turns.h"

namespace nervex::webhook {
namespace {

constexpr std::size_t kMaxBody = std::size_t{7} << 20U;  // old and new object of 3 MiB
constexpr std::size_t kBodyBytes = std::size_t{32} << 20U;
constexpr std::chrono::milliseconds kMemoryTimeout = std::chrono::seconds(2);
// The caller waits 5 s, including the wait for memory. So after kFactsTime no template questions
// start: one takes up to kDryRunTimeout, or twice that, and the access question once more. The rest
// until kReviewTime may be spent on a newer schema.
constexpr std::chrono::milliseconds kFactsTime{1'500};
constexpr std::chrono::milliseconds kReviewTime{4'500};

// Reviews are accepted from any client.
bool is_anonymous(const Flags& flags) { return flags.tls.client_ca_file.empty(); }

std::chrono::milliseconds left_until(MonoTime deadline) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemClock().mono());
}

// Limits API server requests that callers without a certificate cause. Normal reviews stay far
// below them, because most answers are cached.
constexpr FairTurns::Rate kTemplateRate{.per_second = 50, .burst = 100, .under_way = 8};
constexpr FairTurns::Rate kAccessRate{.per_second = 100, .burst = 200, .under_way = 16};
// For PriorityClasses, queues, namespaces, and the existence of an AggregatorConfig.
constexpr FairTurns::Rate kObjectRate{.per_second = 100, .burst = 200, .under_way = 16};
// Without an answer about templates a review continues; without one about access it fails.
constexpr std::chrono::milliseconds kAccessTime{3'000};

// Shared by both hooks.
struct Limits {
  QuestionLimit templates{kTemplateRate};
  QuestionLimit access{kAccessRate};
  QuestionLimit objects{kObjectRate};
  LogLimit unanswered{10};  // lines per second
};

void log_unanswered(const Facts& facts, Limits& limits) {
  if (facts.template_error.empty() && facts.access_error.empty() && facts.priority_error.empty() &&
      facts.queue_error.empty()) {
    return;
  }
  const auto left_out = limits.unanswered.admit(SystemClock().mono());
  if (!left_out) return;
  log_warn("the API server did not answer all questions of a review",
           {{"about_templates", facts.template_error},
            {"about_access", facts.access_error},
            {"about_priorities", facts.priority_error},
            {"about_queues", facts.queue_error},
            {"not_logged", std::to_string(*left_out)}});
}

void add_hook(HttpServer& server, const std::string& path, Hook hook, const Sources& sources,
              MemoryBudget& memory, Metrics& metrics) {
  const HttpHandler handler = bounded(
      memory, kMemoryTimeout,
      [hook, sources](const HttpRequest& request) { return answer(request, hook, sources); });
  const RequestMetricNames names{
      "controller_runtime_webhook_requests_total", "controller_runtime_webhook_latency_seconds",
      "controller_runtime_webhook_requests_in_flight", "Admission reviews"};
  server.handle(path, counted(metrics, names, {{"webhook", path}}, handler));
}

}  // namespace

HttpServerOptions server_options(const Flags& flags) {
  HttpServerOptions options;
  options.listen = flags.common.listen;
  options.tls = flags.tls;
  options.max_connections = 256;
  // API servers are few and need many connections; other callers must leave them a part.
  options.max_connections_per_peer = is_anonymous(flags) ? 224 : 0;
  options.max_body_bytes = kMaxBody;
  options.max_bytes_in_flight = kBodyBytes;
  options.refusal = refusal;
  return options;
}

std::size_t review_bytes_of_one_address(const Flags& flags) {
  return is_anonymous(flags) ? kReviewBytes / 4 * 3 : 0;
}

void add_routes(HttpServer& server, LiveCheck& check, TemplateDryRuns& dry_runs,
                RecentAnswers& answers, Nodes* nodes, const Flags& flags, MemoryBudget& memory,
                Metrics& metrics) {
  const auto limits = std::make_shared<Limits>();
  const Sources sources{
      .check = [&check] { return check.current(); },
      .newer_check =
          [&check](const job::SchemaCheck& outdated, MonoTime received) {
            return check.newer_than(
                outdated, std::min(kLookAgainTimeout, left_until(received + kReviewTime)));
          },
      .facts =
          [&check, &dry_runs, &answers, nodes, flags, limits](const kube::AdmissionRequest& request,
                                                              Hook hook, const HttpRequest& http) {
            Facts facts;
            const auto may_ask = [&](QuestionLimit& limit, std::chrono::milliseconds time) {
              if (!is_anonymous(flags)) return MayAsk();
              return MayAsk([&limit, &http, time, turn = std::make_shared<QuestionLimit::Turn>()](
                                const std::function<bool()>& is_answered) -> Result<Nothing> {
                *turn = QuestionLimit::Turn();  // the question before this one is answered
                auto next = limit.wait_for_turn(http.peer, http.received + time, is_answered);
                if (!next) return next.error();
                *turn = *std::move(next);
                return ok();
              });
            };
            const auto is_late = [&] {
              return left_until(http.received + kFactsTime).count() <= 0;
            };
            if (!flags.dry_run_namespace.empty()) {
              facts = gather_facts(request, dry_runs, check.version(), is_late,
                                   may_ask(limits->templates, kFactsTime));
            }
            if (!is_late()) {
              ask_priorities(request, answers, facts, may_ask(limits->objects, kFactsTime));
              ask_queue(request, answers, facts, may_ask(limits->objects, kFactsTime));
            }
            const bool refuses = flags.capacity == Strictness::kRefuse;
            if (nodes != nullptr && (refuses || (hook == Hook::kValidate && !is_late()))) {
              ask_capacity(request, *nodes, facts);
            }
            if (hook == Hook::kValidate) {  // only one hook reports it
              if (flags.pod_access != Strictness::kOff) {
                ask_pod_access(request, answers, facts, may_ask(limits->access, kAccessTime));
              }
              if (!is_late()) {
                ask_aggregator_config(request, answers, flags.aggregator_config, facts,
                                      may_ask(limits->objects, kFactsTime));
              }
            }
            log_unanswered(facts, *limits);
            return facts;
          },
      .server_user = flags.server_user,
      .host_access = flags.host_access,
      .max_reservation_seconds = flags.max_reservation_seconds,
      .topology_levels = flags.topology_levels,
      .pod_access = flags.pod_access,
      .capacity = flags.capacity,
      .review_bytes = memory.bytes()};
  add_hook(server, "/mutate-nervex-sensetime-com-v1alpha1-nervexjob", Hook::kMutate, sources,
           memory, metrics);
  add_hook(server, "/validate-nervex-sensetime-com-v1alpha1-nervexjob", Hook::kValidate, sources,
           memory, metrics);
}

}  // namespace nervex::webhook
