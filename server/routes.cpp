#include "server/routes.h"

#include "base/log.h"
#include "server/envelope.h"
#include "server/request.h"

namespace nervex::server {
namespace {

constexpr const char* kReplicas = "/v1alpha1/replicas";
constexpr const char* kReplicasFailed = "/v1alpha1/replicas/failed";

HttpReply refuse(const HttpRequest& request, const Error& error) {
  log_info("request refused", {{"method", request.method},
                               {"path", request.path},
                               {"peer", request.peer},
                               {"code", to_string(error.code)},
                               {"error", error.message}});
  return failure(error);
}

HttpReply list(Replicas& replicas, const HttpRequest& http) {
  const auto query = parse_list_query(http.query);
  if (!query) return refuse(http, query.error());
  const auto listed = replicas.list(*query);
  if (!listed) return refuse(http, listed.error());
  return std::visit([](const auto& data) { return success("replicas listed", data); }, *listed);
}

HttpReply add(Replicas& replicas, const HttpRequest& http) {
  const auto request = parse_add_request(http.body);
  if (!request) return refuse(http, request.error());
  const auto added = replicas.add(*request);
  if (!added) return refuse(http, added.error());
  log_info("replicas added", {{"namespace", added->ns},
                              {"coordinator", added->coordinator},
                              {"collectors", std::to_string(added->collectors.size())},
                              {"learners", std::to_string(added->learners.size())}});
  return success("replicas added", *added);
}

}  // namespace

HttpReply answer_replicas(Replicas& replicas, const HttpRequest& request) {
  if (request.method == "GET") return list(replicas, request);
  if (request.method == "POST") return add(replicas, request);
  if (request.method == "DELETE") {
    return not_implemented("removing replicas is not supported yet");
  }
  return not_implemented(request.method + " is not supported here: use GET or POST");
}

void add_routes(HttpServer& server, Replicas& replicas, std::function<std::string()> not_ready) {
  add_health_routes(server, not_ready);
  server.handle(kReplicas, [&replicas, not_ready](const HttpRequest& request) {
    if (const std::string reason = not_ready(); !reason.empty()) {
      return failure({Code::kTransient, "nervex-server is starting: " + reason});
    }
    return answer_replicas(replicas, request);
  });
  server.handle(kReplicasFailed, [](const HttpRequest&) {
    return not_implemented("replacing failed replicas is not supported yet");
  });
  server.handle_rest([](const HttpRequest& request) {
    return failure({Code::kNotFound, "there is nothing at " + request.path});
  });
}

}  // namespace nervex::server
