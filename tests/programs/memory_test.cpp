// The most memory that the real nervex-webhook uses for any input. Its deployment gives
// it 256 MiB, and one that is killed for taking more takes the other replica's load with it.
#include <algorithm>
#include <iostream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>

#include "base/http/client.h"
#include "base/http/server.h"
#include "schemas/schemas.h"
#include "tests/programs/running.h"
#include "tests/support/wait_until.h"

namespace nervex::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kLimit = std::size_t{4} << 30;  // shadow memory, and what was freed is kept
constexpr int kManyCallers = 40;
#else
constexpr int kManyCallers = 200;
constexpr std::size_t kLimit = std::size_t{256} << 20;
#endif
constexpr const char* kPath = "/validate-nervex-sensetime-com-v1alpha1-nervexjob";

// An API server that has the document which the webhook checks templates by, and nothing else.
class OpenApiServer {
 public:
  OpenApiServer() : server_({}) {
    server_.handle("/openapi/v3/api/v1", [](const HttpRequest&) {
      return HttpReply{200, std::string(schemas::pod_template())};
    });
    REQUIRE(server_.start());
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

 private:
  HttpServer server_;
};

class Webhook {
 public:
  Webhook() : program_("webhook", api_.url()) {
    HttpClient ops({"http://127.0.0.1:" + std::to_string(program_.metrics_port())});
    REQUIRE(wait_until(
        [&] {
          const auto reply = ops.send("GET", "/readyz", {}, "", "");
          return reply && reply->status == 200;
        },
        std::chrono::seconds(60)));
  }

  // The status; 0 if the connection broke: the webhook may answer before it has read everything.
  int review(HttpClient& client, const std::string& body) const {
    const auto reply = client.send("POST", kPath, {}, body, "application/json");
    return reply ? reply->status : 0;
  }
  HttpClientOptions options() const {
    HttpClientOptions options;
    options.url = "https://127.0.0.1:" + std::to_string(program_.port());
    options.ca = program_.ca();
    options.pool_size = 1;
    options.read_timeout = std::chrono::minutes(5);  // for machines that are busy
    options.write_timeout = std::chrono::minutes(5);
    return options;
  }
  std::size_t peak_memory_bytes() const { return program_.peak_memory_bytes(); }

 private:
  OpenApiServer api_;
  RunningProgram program_;
};

std::string repeated(const std::string& piece, std::size_t bytes, const std::string& last) {
  std::string text;
  text.reserve(bytes + piece.size() + last.size());
  while (text.size() < bytes) text += piece;
  return text + last;
}

std::string make_review(const std::string& spec) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
         R"("operation":"CREATE","kind":{"kind":"NerveXJob"},"object":{"metadata":{"name":"j"},)"
         R"("spec":{)" +
         spec + "}}}}";
}

std::string containers(const std::string& list) {
  return R"("coordinator":{"template":{"spec":{"containers":[)" + list + "]}}}";
}

std::vector<std::string> hostile_bodies(std::size_t size) {
  return {
      make_review("\"x\":[" + repeated("[],", size, "1]")),
      make_review("\"x\":[" + repeated("{},", size, "1]")),
      make_review(containers(repeated("{},", size, "{}"))),
      make_review(containers(repeated(R"({"name":1,"image":[],"env":{},"tty":"x"},)", size, "{}"))),
      make_review(containers("{\"env\":[" + repeated("{\"name\":1},", size, "{}]}"))),
  };
}

// 250 kB and right.
std::string honest_job() {
  std::string variables = R"({"name":"A","value":"1"})";
  for (int i = 0; variables.size() < 250'000; ++i) {
    variables += fmt::format(R"(,{{"name":"VARIABLE_{}","value":"what it is set to"}})", i);
  }
  return make_review(
      containers(R"({"name":"nervex-container","image":"i","env":[)" + variables + "]}"));
}

// Each caller has all bodies reviewed on its own connection. Returns the statuses of all.
std::vector<int> post_reviews(const Webhook& webhook, int callers,
                              const std::vector<std::string>& bodies) {
  std::vector<int> statuses(static_cast<std::size_t>(callers) * bodies.size());
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, first = static_cast<std::size_t>(i) * bodies.size()] {
      HttpClient client(webhook.options());
      for (std::size_t k = 0; k < bodies.size(); ++k) {
        statuses[first + k] = webhook.review(client, bodies[k]);
      }
    });
  }
  threads.clear();
  return statuses;
}

void check_survives(const Webhook& webhook, const std::string& what, int callers,
                    const std::vector<std::string>& bodies, std::vector<int> allowed) {
  const auto statuses = post_reviews(webhook, callers, bodies);
  std::map<int, int> counts;
  for (const int status : statuses) ++counts[status];
  for (const auto& [status, count] : counts) {
    INFO(what << ": status " << status << ", " << count << " times");
    CHECK(std::find(allowed.begin(), allowed.end(), status) != allowed.end());
  }
  const std::size_t peak = webhook.peak_memory_bytes();
  std::cout << fmt::format("  {}: {} MiB at most; statuses {}\n", what, peak >> 20,
                           fmt::join(counts, ", "));
  INFO(what);
  CHECK(peak < kLimit);
  HttpClient client(webhook.options());
  CHECK(webhook.review(client, honest_job()) == 200);
}

}  // namespace

TEST_CASE("hostile reviews on many connections keep the webhook within its memory limit",
          "[programs][memory]") {
  const Webhook webhook;
  check_survives(webhook, "7 MiB on 16 connections", 16, hostile_bodies(7'200'000), {0, 413, 503});
  check_survives(webhook, "300 kB on 32 connections", 32, hostile_bodies(300'000), {0, 200, 503});
  check_survives(webhook, "60 kB on many connections", kManyCallers, hostile_bodies(60'000),
                 {0, 200, 503});
}

TEST_CASE("a flood of large valid jobs keeps the webhook within its memory limit",
          "[programs][memory]") {
  const Webhook webhook;
  check_survives(webhook, "250 kB on many connections", kManyCallers, {honest_job(), honest_job()},
                 {0, 200, 503});
}

}  // namespace nervex::testing
