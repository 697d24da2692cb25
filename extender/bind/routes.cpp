#include "extender/bind/routes.h"

#include "base/clock.h"
#include "base/log.h"
#include "extender/observe/live_objects.h"
#include "kube/model/extender_api.h"

namespace nervex::extender {
namespace {

// A pod may have as much as etcd takes (1.5 MiB), escaped, and beside it come thousands of names.
constexpr std::size_t kMaxBody = 8U << 20;
// Concurrent calls beside held ones: filter, and binds that wait for the API server.
constexpr std::size_t kOtherCalls = 1024;

enum class VerbResult {
  kSuccess,
  kNoNode,  // filter: no node is left for this pod, now or permanently; label "refused"
  kError,   // `Error` is set: kube-scheduler retries
};

// nervex_extender_requests_total{verb,result} and nervex_extender_request_duration_seconds{verb}.
// Looks its metrics up once.
class VerbMetrics {
 public:
  VerbMetrics(Metrics& metrics, const std::string& verb);
  void count(VerbResult result, std::chrono::nanoseconds took) const;

 private:
  const Counter success_;
  const Counter no_node_;
  const Counter error_;
  const Histogram seconds_;
};

Counter verb_counter(Metrics& metrics, const std::string& verb, const char* result) {
  return metrics.counter(
      "nervex_extender_requests_total",
      "Total number of calls from kube-scheduler that were answered, by verb and result.",
      {{"verb", verb}, {"result", result}});
}

VerbMetrics::VerbMetrics(Metrics& metrics, const std::string& verb)
    : success_(verb_counter(metrics, verb, "success")),
      no_node_(verb_counter(metrics, verb, "refused")),
      error_(verb_counter(metrics, verb, "error")),
      seconds_(metrics.histogram("nervex_extender_request_duration_seconds",
                                 "Time from a call of kube-scheduler to the reply, in seconds; for "
                                 "a bind it includes the time it was held.",
                                 request_bounds(), {{"verb", verb}})) {}

void VerbMetrics::count(VerbResult result, std::chrono::nanoseconds took) const {
  seconds_.observe(took);
  (result == VerbResult::kSuccess  ? success_
   : result == VerbResult::kNoNode ? no_node_
                                   : error_)
      .add();
}

struct Answer {
  std::string body;
  VerbResult result = VerbResult::kSuccess;
};

Answer answer_with(const kube::FilterResult& filtered) {
  VerbResult result = VerbResult::kSuccess;
  if (filtered.node_names.empty()) result = VerbResult::kNoNode;
  if (!filtered.error.empty()) result = VerbResult::kError;
  return {kube::encode_filter_result(filtered), result};
}

Answer answer_filter(const std::string& body, const BindCache& cache, bool synced) {
  const auto args = kube::decode_filter_args(body, pod_filter());
  if (!args) return answer_with({{}, {}, args.error().message});
  return answer_with(filter(*args, synced ? filter_view(cache, *args) : planner::FilterView{}));
}

Answer answer_bind(const HttpRequest& request, Binder& binder, const Result<Nothing>& ready) {
  const auto args = kube::decode_bind_args(request.body);
  if (!args) return {kube::encode_bind_result(args.error().message), VerbResult::kError};
  const auto bound = ready ? binder.bind(*args, request.has_caller_left) : ready;
  if (bound) return {kube::encode_bind_result(""), VerbResult::kSuccess};
  log_warn("pod not bound", {{"pod", args->pod_namespace + "/" + args->pod_name},
                             {"node", args->node},
                             {"error", bound.error().message}});
  return {kube::encode_bind_result(bound.error().message), VerbResult::kError};
}

// A call that throws is counted as an error, too.
HttpHandler counted(const VerbMetrics& metrics, std::function<Answer(const HttpRequest&)> answer) {
  return [metrics, answer = std::move(answer)](const HttpRequest& request) {
    const SystemClock clock;
    const MonoTime began = clock.mono();
    try {
      Answer answered = answer(request);
      metrics.count(answered.result, clock.mono() - began);
      return HttpReply{200, std::move(answered.body)};
    } catch (...) {
      metrics.count(VerbResult::kError, clock.mono() - began);
      throw;
    }
  };
}

// The only request of kube-scheduler that the server itself can reject is one that is too large,
// and kube-scheduler reads no body but that of a 200.
HttpReply reject_request(int status, const std::string& reason) {
  return {status == 413 ? 200 : status, kube::encode_filter_result({{}, {}, reason})};
}

}  // namespace

planner::FilterView filter_view(const BindCache& cache, const kube::FilterArgs& args) {
  planner::FilterView view{true, gang::pod_slot(args.pod), {}, {}};
  if (view.slot) {
    view.seen = cache.slot_seen(*view.slot);
  } else if (const auto gang = foreign_gang_name(args.pod); !gang.empty()) {
    view.foreign = cache.foreign_seen(gang);
    view.foreign->gang = planner::describe_foreign_of(args.pod.meta);
    if (is_plain(args.pod)) view.foreign->is_found = true;
  } else if (is_stray(args.pod)) {
    view.is_stray = true;
  } else {
    view.reserved = cache.reserved_nodes(args.node_names);
  }
  return view;
}

HttpServerOptions server_options(const std::string& listen, std::size_t most_held,
                                 std::optional<TlsFiles> tls) {
  HttpServerOptions options;
  options.listen = listen;
  options.tls = std::move(tls);
  options.max_connections = most_held + kOtherCalls;
  options.max_body_bytes = kMaxBody;
  options.internal_error = {200, R"({"planner::NodeNames":[],"Error":"internal error"})"};
  options.refusal = reject_request;
  return options;
}

void add_routes(HttpServer& server, BindCache& cache, Binder& binder,
                const std::function<Result<Nothing>()>& check_ready, Metrics& metrics) {
  server.handle(
      "/filter",
      counted(VerbMetrics(metrics, "filter"), [&cache, check_ready](const HttpRequest& request) {
        return answer_filter(request.body, cache, check_ready().has_value());
      }));
  server.handle("/bind", counted(VerbMetrics(metrics, "bind"),
                                 [&binder, check_ready](const HttpRequest& request) {
                                   return answer_bind(request, binder, check_ready());
                                 }));
}

}  // namespace nervex::extender
