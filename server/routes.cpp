#include "server/routes.h"

#include <optional>

#include "base/log.h"
#include "base/request_metrics.h"
#include "server/envelope.h"
#include "server/request.h"

namespace nervex::server {
namespace {

constexpr const char* kReplicas = "/v1alpha1/replicas";
constexpr const char* kReplicasFailed = "/v1alpha1/replicas/failed";
constexpr const char* kAllowed = "GET, POST";

// The method comes from the network: whatever it is not, is "other".
MetricLabels verb_and_code(const HttpRequest& request, const HttpReply& reply) {
  MetricLabels labels = code_label(request, reply);
  const std::string& method = request.method;
  const bool is_known = method == "GET" || method == "POST" || method == "DELETE";
  labels.emplace("verb", is_known ? method : "other");
  return labels;
}

HttpReply refuse(const HttpRequest& request, const Error& error) {
  log_info("request refused", {{"method", request.method},
                               {"path", request.path},
                               {"peer", request.peer},
                               {"code", to_string(error.code)},
                               {"error", error.message}});
  return failure(error);
}

HttpReply refuse_unknown(const HttpRequest& request, const Error& error) {
  const HttpReply reply = refuse(request, error);
  return error.code == Code::kDenied ? unauthenticated(error.message) : reply;
}

// Null without --auth=token: then everybody may do everything.
using Asker = std::optional<Identity>;

Result<Nothing> allow(Gate* gate, const Asker& who, const Subject& subject) {
  return who ? gate->allow(*who, subject) : ok();
}

Subject subject_of(const ListQuery& query) {
  const auto& pod = query.coordinator  ? query.coordinator
                    : query.aggregator ? query.aggregator
                                       : query.name;
  return {.changes = false, .ns = query.ns.value_or(""), .pod = pod.value_or("")};
}

HttpReply list(Replicas& replicas, Gate* gate, const Asker& who, const HttpRequest& http) {
  const auto query = parse_list_query(http.query);
  if (!query) return refuse(http, query.error());
  if (auto may = allow(gate, who, subject_of(*query)); !may) return refuse(http, may.error());
  const auto listed = replicas.list(*query);
  if (!listed) return refuse(http, listed.error());
  return std::visit([](const auto& data) { return success("replicas listed", data); }, *listed);
}

HttpReply add(Replicas& replicas, Gate* gate, const Asker& who, const HttpRequest& http) {
  const auto request = parse_add_request(http.body);
  if (!request) return refuse(http, request.error());
  const Subject subject{.changes = true, .ns = request->ns, .pod = request->coordinator};
  if (auto may = allow(gate, who, subject); !may) return refuse(http, may.error());
  const auto added = replicas.add(*request);
  if (!added) return refuse(http, added.error());
  log_info("replicas added", {{"namespace", added->ns},
                              {"coordinator", added->coordinator},
                              {"collectors", std::to_string(added->collectors.size())},
                              {"learners", std::to_string(added->learners.size())}});
  return success("replicas added", *added);
}

}  // namespace

HttpReply answer_replicas(Replicas& replicas, Gate* gate, const HttpRequest& request) {
  Asker who;
  if (gate != nullptr) {
    auto identity = gate->identify(request.headers);
    if (!identity) return refuse_unknown(request, identity.error());
    who = *std::move(identity);
  }
  if (request.method == "GET") return list(replicas, gate, who, request);
  if (request.method == "POST") return add(replicas, gate, who, request);
  if (request.method == "DELETE") {
    return not_implemented("removing replicas is not supported yet", kAllowed);
  }
  return not_implemented(request.method + " is not supported here: use GET or POST", kAllowed);
}

HttpServerOptions server_options(const std::string& listen, std::size_t max_connections,
                                 std::optional<TlsFiles> tls) {
  HttpServerOptions options;
  options.listen = listen;
  options.tls = std::move(tls);
  options.max_connections = max_connections;
  options.crowded_percent = 75;
  options.idle_timeout = std::chrono::seconds(60);  // clients poll every second, and reconnect
  options.internal_error = failure({Code::kInternal, "internal error"});
  options.refusal = refusal;
  return options;
}

void add_routes(HttpServer& server, Replicas& replicas, Gate* gate,
                std::function<std::string()> not_ready, Metrics& metrics) {
  const auto handle = [&](const char* path, HttpHandler handler) {
    server.handle(
        path, counted(metrics,
                      {"nervex_server_requests_total", "nervex_server_request_duration_seconds", "",
                       "Requests of the replicas API"},
                      {}, verb_and_code, std::move(handler)));
  };
  handle(kReplicas, [&replicas, gate, not_ready](const HttpRequest& request) {
    if (const std::string reason = not_ready(); !reason.empty()) {
      return failure({Code::kTransient, "nervex-server is starting: " + reason});
    }
    return answer_replicas(replicas, gate, request);
  });
  handle(kReplicasFailed, [](const HttpRequest&) {
    return not_implemented("replacing failed replicas is not supported yet", "");
  });
  server.handle_rest([](const HttpRequest& request) {
    return failure({Code::kNotFound, "there is nothing at " + request.path});
  });
}

}  // namespace nervex::server
