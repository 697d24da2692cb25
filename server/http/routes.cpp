#include "server/http/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/http/request_metrics.h"
#include "base/tls/sha256.h"
#include "server/http/envelope.h"
#include "server/http/request.h"

namespace nervex::server {
namespace {

constexpr const char* kReplicas = "/v1alpha1/replicas";
constexpr const char* kReplicasFailed = "/v1alpha1/replicas/failed";
constexpr const char* kAllowed = "GET, POST, DELETE";

// One request, and what answers it.
struct Exchange {
  Replicas& replicas;
  Authorizer& authorizer;
  RequestLimits& limits;
  const HttpRequest& http;
  Identity who{};
};

HttpReply refuse(const Exchange& exchange, const Error& error) {
  const HttpRequest& request = exchange.http;
  const bool is_denied = error.code == Code::kUnauthorized || error.code == Code::kForbidden;
  LogLimit& lines = is_denied ? exchange.limits.denials : exchange.limits.refusals;
  if (const auto left_out = lines.admit(SystemClock().mono())) {
    log_info("request refused", {{"method", request.method},
                                 {"path", request.path},
                                 {"peer", request.peer},
                                 {"code", to_string(error.code)},
                                 {"error", error.message},
                                 {"not_logged", std::to_string(*left_out)}});
  }
  return failure(error);
}

HttpReply refuse_unknown(const Exchange& exchange, const Error& error) {
  const HttpReply reply = refuse(exchange, error);
  return error.code == Code::kUnauthorized ? unauthenticated(error.message) : reply;
}

Subject query_subject(const ListQuery& query) {
  const auto& pod = query.coordinator  ? query.coordinator
                    : query.aggregator ? query.aggregator
                                       : query.name;
  return {.changes = false, .ns = query.ns.value_or(""), .pod = pod.value_or("")};
}

HttpReply list(const Exchange& exchange) {
  const auto query = parse_list_query(exchange.http.query);
  if (!query) return refuse(exchange, query.error());
  if (auto may = exchange.authorizer.allow(exchange.who, query_subject(*query)); !may) {
    return refuse(exchange, may.error());
  }
  const auto listed = exchange.replicas.list(*query);
  if (!listed) return refuse(exchange, listed.error());
  return std::visit([](const auto& data) { return success("replicas listed", data); }, *listed);
}

// One way to change replicas: its name in call records, its body parser, its action.
template <typename Request>
struct Changing {
  const char* method;
  const char* done;  // the message
  Result<Request> (*parse)(std::string_view body, const Limits& limits);
  Result<Listing> (Replicas::*apply)(const Request& request, const Call& call);
};

constexpr Changing<AddRequest> kAdd{"POST", "replicas added",
                                    [](std::string_view body, const Limits& limits) {
                                      return parse_add_request(body, limits.replicas_per_request);
                                    },
                                    &Replicas::add};
constexpr Changing<RemoveRequest> kRemove{
    "DELETE", "replicas removed",
    [](std::string_view body, const Limits&) { return parse_remove_request(body); },
    &Replicas::remove};
constexpr Changing<ReplaceRequest> kReplace{"POST failed", "replicas replaced",
                                            [](std::string_view body, const Limits& limits) {
                                              return parse_replace_request(
                                                  body, limits.replicas_per_request);
                                            },
                                            &Replicas::replace};

template <typename Request>
HttpReply change(const Changing<Request>& changing, const Exchange& exchange) {
  Replicas& replicas = exchange.replicas;
  const HttpRequest& http = exchange.http;
  const auto key = parse_key(http.headers);
  if (!key) return refuse(exchange, key.error());
  const auto request = changing.parse(http.body, replicas.changes().limits());
  if (!request) return refuse(exchange, request.error());
  const Subject subject{.changes = true, .ns = request->ns, .pod = request->coordinator};
  if (auto may = exchange.authorizer.allow(exchange.who, subject); !may) {
    return refuse(exchange, may.error());
  }

  const auto pending_reply = std::make_shared<PendingReply>();
  // A digest, so that callers cannot build a body that counts as a repeat of another caller's.
  const Call call{{changing.method, sha256_hex(http.body), *key, http.peer},
                  pending_reply.get(),
                  [&http](bool waits) { http.set_waiting(waits); },
                  [&http] { return http.has_lost_place() || http.has_caller_left(); }};
  const auto named = (replicas.*changing.apply)(*request, call);
  if (!named) return refuse(exchange, named.error());
  log_info(changing.done, {{"namespace", named->ns},
                           {"coordinator", named->coordinator},
                           {"collectors", std::to_string(named->collectors.size())},
                           {"learners", std::to_string(named->learners.size())}});
  HttpReply reply = success(changing.done, *named);
  Changes& changes = replicas.changes();
  reply.on_written = [&changes, pending_reply](bool written) {
    changes.reply_done(*pending_reply, written);
  };
  return reply;
}

// The headers identify the caller: the body is not read before.
template <typename Answer>
HttpReply answer_known(Exchange exchange, Answer answer) {
  auto who = exchange.authorizer.identify(exchange.http.headers, exchange.http.peer);
  if (!who) return refuse_unknown(exchange, who.error());
  exchange.who = *std::move(who);
  const bool is_known = !exchange.who.user.empty();
  const auto turn = is_known ? exchange.limits.under_way.begin(exchange.who.user) : std::nullopt;
  if (is_known && !turn) {
    return refuse(exchange, {Code::kTransient, "too many requests from this caller at once"});
  }
  return answer(exchange);
}

}  // namespace

HttpReply answer_replicas(Replicas& replicas, Authorizer& authorizer, RequestLimits& limits,
                          const HttpRequest& request) {
  return answer_known({replicas, authorizer, limits, request}, [](const Exchange& exchange) {
    const std::string& method = exchange.http.method;
    if (method == "GET") return list(exchange);
    if (method == "POST") return change(kAdd, exchange);
    if (method == "DELETE") return change(kRemove, exchange);
    return not_implemented(method + " is not supported here: use GET, POST or DELETE", kAllowed);
  });
}

HttpReply answer_failed(Replicas& replicas, Authorizer& authorizer, RequestLimits& limits,
                        const HttpRequest& request) {
  return answer_known({replicas, authorizer, limits, request}, [](const Exchange& exchange) {
    const std::string& method = exchange.http.method;
    if (method == "POST") return change(kReplace, exchange);
    return not_implemented(method + " is not supported here: use POST", "POST");
  });
}

std::size_t part_of_one_caller(std::size_t max_connections) {
  return std::max<std::size_t>(max_connections / 4, 1);
}

HttpServerOptions server_options(const std::string& listen, std::size_t max_connections,
                                 std::optional<TlsFiles> tls, std::size_t max_per_address) {
  HttpServerOptions options;
  options.listen = listen;
  options.tls = std::move(tls);
  options.max_connections = max_connections;
  options.max_connections_per_peer =
      max_per_address != 0 ? max_per_address : part_of_one_caller(max_connections);
  options.high_watermark_percent = 75;
  options.max_bytes_in_flight = std::size_t{32} << 20U;  // parsing holds several copies of a text
  options.idle_timeout = std::chrono::seconds(60);       // clients poll every second, and reconnect
  options.internal_error = failure({Code::kInternal, "internal error"});
  options.refusal = refusal;
  return options;
}

void add_routes(HttpServer& server, Replicas& replicas, Authorizer& authorizer,
                RequestLimits& limits, std::function<Result<Nothing>()> check_ready,
                Metrics& metrics) {
  const RequestMetricNames names{"nervex_server_requests_total",
                                 "nervex_server_request_duration_seconds",
                                 "",
                                 "Requests of the replicas API",
                                 {"GET", "POST", "DELETE"}};
  const auto handle = [&](const char* path, HttpHandler handler) {
    server.handle(path, counted(metrics, names, {}, std::move(handler)));
  };
  const auto handle_when_ready = [&](const char* path, auto answer) {
    handle(path,
           [&replicas, &authorizer, &limits, check_ready, answer](const HttpRequest& request) {
             if (const auto ready = check_ready(); !ready) {
               return failure(with_context("nervex-server is starting", ready.error()));
             }
             return answer(replicas, authorizer, limits, request);
           });
  };
  handle_when_ready(kReplicas, answer_replicas);
  handle_when_ready(kReplicasFailed, answer_failed);
  server.handle_rest([](const HttpRequest& request) {
    return failure({Code::kNotFound, "no such path: " + request.path});
  });
  const auto count = [&metrics](const char* name, const char* help, auto read) {
    metrics.collect(name, help, MetricType::kCounter, [read] {
      return std::vector<MetricSample>{{{}, static_cast<double>(read())}};
    });
  };
  count("nervex_server_idempotent_replays_total",
        "Total number of calls that were answered as repeats of earlier ones.",
        [&replicas] { return replicas.changes().repeats(); });
  count("nervex_server_conflicts_total",
        "Total number of writes that were decided again because the job had changed meanwhile.",
        [&replicas] { return replicas.changes().conflicts(); });
}

}  // namespace nervex::server
