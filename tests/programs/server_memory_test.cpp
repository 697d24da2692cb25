// The most memory that the real nervex-server uses for any input, with the limit that
// its deployment gives it.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>

#include "base/http/client.h"
#include "base/http/server.h"
#include "tests/base/raw_socket.h"
#include "tests/programs/memory_cgroup.h"
#include "tests/programs/running.h"
#include "tests/support/sanitized.h"
#include "tests/support/wait_until.h"

namespace nervex::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kServerLimit = std::size_t{512} << 20;  // manifests/deployments/server.yaml
constexpr const char* kReplicasPath = "/v1alpha1/replicas";

// An API server without any object, to which every token is that of a pod that belongs to no job.
class EmptyApiServer {
 public:
  EmptyApiServer() : server_(options()) {
    server_.handle("/apis/authentication.k8s.io/v1/tokenreviews", [](const HttpRequest&) {
      return HttpReply{
          201,
          R"({"status":{"authenticated":true,"audiences":["nervex-server"],"user":{"username":)"
          R"("system:serviceaccount:rl:default","extra":{"authentication.kubernetes.io/pod-name":)"
          R"(["other"],"authentication.kubernetes.io/pod-uid":["uid-other"]}}}})"};
    });
    server_.handle("/apis/authorization.k8s.io/v1/subjectaccessreviews", [](const HttpRequest&) {
      return HttpReply{201, R"({"status":{"allowed":false}})"};
    });
    server_.handle_rest([](const HttpRequest& request) {
      if (request.query.contains("watch")) return HttpReply{200, ""};
      const bool is_one = request.path.find("/namespaces/") != std::string::npos &&
                          !request.query.contains("fieldSelector");
      if (is_one) return HttpReply{404, R"({"kind":"Status","code":404})"};
      return HttpReply{200, R"({"kind":"List","metadata":{"resourceVersion":"1"},"items":[]})"};
    });
    REQUIRE(server_.start());
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

 private:
  static HttpServerOptions options() {
    HttpServerOptions options;
    options.max_connections = 1'000;
    return options;
  }

  HttpServer server_;
};

HttpClientOptions client_options(const RunningProgram& server) {
  HttpClientOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(server.port());
  options.pool_size = 1;
  options.read_timeout = 5min;  // for machines that are busy
  options.write_timeout = 5min;
  return options;
}

// `piece` repeated up to this many bytes, and `last`.
std::string filled_with(const std::string& piece, std::size_t bytes, const std::string& last) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text + last;
}

std::vector<std::string> hostile_requests() {
  constexpr std::size_t kSize = 1'000'000;
  return {
      R"({"x":[)" + filled_with("[],", kSize, "1]}"),
      R"({"learners":[)" + filled_with("{},", kSize, "1]}"),
      "{" + filled_with(R"("A":[],)", kSize, R"("b":1})"),
      R"({"namespace":")" + filled_with("a", kSize, "\"}"),
  };
}

// 0 if the connection broke: the server may answer before it has read everything.
int post(HttpClient& client, const std::string& body) {
  const auto reply =
      client.send("POST", kReplicasPath, {{"Authorization", "Bearer of-another-pod"}}, body,
                  "application/json");
  return reply ? reply->status : 0;
}

bool serves(const RunningProgram& server) {
  HttpClient client(client_options(server));
  const auto reply = client.send("GET", std::string(kReplicasPath) + "?namespace=rl&coordinator=c",
                                 {{"Authorization", "Bearer of-another-pod"}}, "", "");
  return reply && reply->status == 403;
}

}  // namespace

TEST_CASE("hostile bodies on many connections keep nervex-server within its memory limit",
          "[programs][memory]") {
  if (kSanitized) SKIP("a sanitizer takes more than any container has");
  std::string why_not;
  const auto cgroup = MemoryCgroup::make(kServerLimit, why_not);
  if (cgroup == nullptr) SKIP(why_not);
  const EmptyApiServer api;
  const RunningProgram server("server", api.url(), {"--auth=token"}, cgroup.get());
  REQUIRE(wait_until([&] { return serves(server); }, 60s));

  std::vector<std::jthread> callers;
  for (int i = 0; i < 40; ++i) {
    callers.emplace_back([&] {
      HttpClient client(client_options(server));
      for (const auto& body : hostile_requests()) post(client, body);
    });
  }
  callers.clear();
  REQUIRE(cgroup->kills() == 0);
  std::cout << fmt::format("  1 MB on 40 connections: {} MiB at most\n",
                           server.peak_memory_bytes() >> 20);
  CHECK(serves(server));
}

TEST_CASE("nervex-server releases the memory of held bodies", "[programs][memory]") {
  if (kSanitized) SKIP("a sanitizer keeps what was freed");
  const EmptyApiServer api;
  const RunningProgram server("server", api.url());
  REQUIRE(wait_until([&] { return server.port() != 0; }, 60s));
  constexpr std::size_t kKept = std::size_t{32} << 20;
  constexpr std::size_t kConnections = 1'500;
  // Each below the size of body that is counted; from several addresses, for one may not hold so
  // many.
  const std::string body = filled_with("[],", 30'000, "");
  std::vector<test::RawSocket> held;
  for (std::size_t i = 0; i < kConnections; ++i) {
    held.push_back(
        test::RawSocket::connect_to(server.port(), fmt::format("127.0.0.{}", 1 + i % 8)));
    held.back().send(fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                                 kReplicasPath, body.size() + 1, body));
  }
  // All are accepted before the first ends: accepting one is what frees what others have left.
  REQUIRE(wait_until([&] { return server.threads() > kConnections; }, 60s));
  CHECK(wait_until([&] { return server.memory_bytes() > 3 * kKept; }, 60s));
  held.clear();
  const bool is_freed = wait_until([&] { return server.memory_bytes() < kKept; }, 60s);
  CHECK(is_freed);
  std::cout << fmt::format("  after held bodies: {} MiB, {} at most\n", server.memory_bytes() >> 20,
                           server.peak_memory_bytes() >> 20);
}

}  // namespace nervex::testing
