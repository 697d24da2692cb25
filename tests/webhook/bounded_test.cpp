// Also counts what reviews really take: all that C++ code allocates on the reviewing thread.
#include "webhook/bounded.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/counted_memory.h"
#include "tests/support/sanitized.h"
#include "tests/support/wait_until.h"
#include "tests/webhook/samples.h"
#include "webhook/answer.h"
#include "webhook/review_memory.h"
#include "webhook/routes.h"

namespace nervex::webhook {
namespace {

using namespace std::chrono_literals;

HttpRequest request_with(std::string body) {
  return {.method = "POST",
          .path = "/",
          .query = {},
          .headers = {},
          .body = std::move(body),
          .peer = ""};
}

// `piece` repeated up to this many bytes, and `last`.
std::string repeated(const std::string& piece, std::size_t bytes, const std::string& last) {
  std::string text;
  text.reserve(bytes + piece.size() + last.size());
  while (text.size() < bytes) text += piece;
  return text + last;
}

std::string numbered(const char* form, std::size_t bytes, const std::string& last) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += fmt::format(fmt::runtime(form), i);
  return text + last;
}

std::string make_review(const std::string& object) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
         R"("operation":"CREATE","kind":{"kind":"NerveXJob"},"object":)" +
         object + "}}";
}

// A job without a clean-up policy, so that it is patched, with this beside its spec's coordinator.
std::string job_with_spec(const std::string& more) {
  return make_review(R"({"metadata":{"name":"j"},"spec":{"coordinator":{"template":{}},)" + more +
                     "}}");
}

std::string job_with_pod(const std::string& more) {
  return job_with_spec(R"("collector":{"template":{"spec":{)" + more + "}}}");
}

// Of a job whose stored requests are put back.
std::string make_update_review(const std::string& stored) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
         R"("operation":"UPDATE","kind":{"kind":"NerveXJob"},)"
         R"("object":{"metadata":{"name":"j"},"spec":{"coordinator":{}}},)"
         R"("oldObject":{"spec":{"requests":)" +
         stored + "}}}}";
}

// Of a job whose coordinator's pod had the members `stored` and now has `sent`.
std::string update_between(const std::string& stored, const std::string& sent) {
  const auto object = [](const std::string& pod) {
    return R"({"metadata":{"name":"j"},"spec":{"coordinator":{"template":{"spec":{)" + pod +
           "}}}}}";
  };
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
         R"("operation":"UPDATE","kind":{"kind":"NerveXJob"},"object":)" +
         object(sent) + R"(,"oldObject":)" + object(stored) + "}}";
}

std::size_t peak_memory(const std::string& body, Hook hook) {
  const Sources sources = sources_with(job_check());
  const HttpRequest request = request_with(body);
  return testing::most_allocated_by([&] { answer(request, hook, sources); });
}

struct BoundedRow {
  std::string when;
  std::string body;
};

std::vector<BoundedRow> hostile_bodies(std::size_t size) {
  return {
      {"it is no review but arrays", "[" + repeated("[],", size, "1]")},
      {"it is no review but objects", "[" + repeated("{},", size, "1]")},
      {"it is no review but numbers", "[" + repeated("1,", size, "1]")},
      {"it is no review but texts", "[" + repeated("\"\",", size, "1]")},
      {"it is no review but members", "{" + numbered("\"{}\":{{}},", size, "\"x\":1}")},
      {"it is nested",
       "[" + repeated(std::string(98, '[') + std::string(98, ']') + ",", size, "1]")},
      {"it is nested in objects",
       "[" + repeated(repeated("{\"a\":", 98 * 5, "1" + std::string(98, '}')) + ",", size, "1]")},
      {"it has arrays for what is unknown", job_with_spec("\"x\":[" + repeated("[],", size, "1]"))},
      {"it has objects for what is unknown",
       job_with_spec("\"x\":[" + repeated("{},", size, "1]"))},
      {"it has many unknown fields", job_with_spec(numbered("\"x{}\":1,", size, "\"y\":1"))},
      {"its containers are empty", job_with_pod("\"containers\":[" + repeated("{},", size, "{}]"))},
      {"its containers are numbers", job_with_pod("\"containers\":[" + repeated("1,", size, "1]"))},
      {"its containers have nothing but wrong types",
       job_with_pod(
           "\"containers\":[" +
           repeated(R"({"name":1,"image":1,"env":1,"ports":1,"args":1,"tty":1},)", size, "{}]"))},
      {"its variables have wrong types",
       job_with_pod("\"containers\":[{\"env\":[" +
                    repeated(R"({"name":1,"value":1},)", size, "{}]}]"))},
      {"its limits are wrong", job_with_pod("\"containers\":[{\"resources\":{\"limits\":{" +
                                            numbered("\"a{0}/a\":\"1m\",", size, "\"b\":1}}}]"))},
      {"its volumes are all the same",
       job_with_spec("\"volumes\":[" + repeated(R"({"name":"a"},)", size, "{}]"))},
      {"its tolerations and arguments are wrong",
       job_with_pod("\"tolerations\":[" + repeated("[[]],", size / 2, "1],") +
                    "\"containers\":[{\"args\":[" + repeated("{},", size / 2, "1]}]"))},
      {"a key is long, and all that is below it is wrong",
       job_with_pod("\"containers\":[{\"resources\":{\"limits\":{\"" + std::string(size / 2, 'k') +
                    "\":{" + numbered("\"u{}\":1,", size / 2, "\"active\":\"x\"}}}}]"))},
      {"many keys are long, and all that is below them is wrong",
       job_with_pod("\"containers\":[{\"resources\":{\"limits\":{" +
                    numbered(("\"{}" + std::string(300, 'k') +
                              "\":{{\"active\":\"x\",\"failed\":\"x\",\"succeeded\":[]}},")
                                 .c_str(),
                             size, "\"a\":1}}}]"))},
      {"what is stored is wrong in another way",
       update_between("\"containers\":[" + repeated("1,", size / 2, "1]"),
                      "\"containers\":[" + repeated("{},", size / 2, "{}]"))},
      {"what is stored is as wrong",
       update_between("\"tolerations\":[" + repeated("[[]],", size / 2, "1]"),
                      "\"tolerations\":[" + repeated("[[]],", size / 2, "2]"))},
      {"it does away with many requests",
       make_update_review(R"({"entries":[)" + repeated("{},", size, "{}]}"))},
      {"it does away with one long request",
       make_update_review("\"" + repeated("\\u0001", size, "") + "\"")},
      {"it is all one name",
       make_review("{\"metadata\":{\"generateName\":\"" + std::string(size, 'n') + "\"}}")},
      {"it is cut off", "[" + repeated("[],", size, "")},
  };
}

}  // namespace

TEST_CASE("a review takes no more memory than estimated", "[webhook][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  const std::size_t size = GENERATE(std::size_t{500}, std::size_t{60'000}, std::size_t{400'000});
  for (const auto& [when, body] : hostile_bodies(size)) {
    for (const Hook hook : {Hook::kMutate, Hook::kValidate}) {
      const std::size_t taken = peak_memory(body, hook);
      const std::size_t estimated = review_memory(body);
      INFO("when " << when << ", " << body.size() << " bytes: " << taken << " taken, " << estimated
                   << " estimated");
      CHECK(taken <= estimated);
    }
  }
}

TEST_CASE("the size of an ordinary job is not overestimated", "[webhook][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  Json job = a_job();
  auto& env = job["spec"]["coordinator"]["template"]["spec"]["containers"][0]["env"];
  for (int i = 0; i < 4000; ++i) {
    env.push_back({{"name", fmt::format("VARIABLE_{}", i)}, {"value", "some text that is longer"}});
  }
  const std::string body = make_review(job.dump());
  const std::size_t taken = peak_memory(body, Hook::kMutate);
  INFO(body.size() << " bytes: " << taken << " taken, " << review_memory(body) << " estimated");
  CHECK(taken <= review_memory(body));
  CHECK(review_memory(body) < (std::size_t{48} << 20));  // two of them at once, at least
}

namespace {

// Valid jobs with many small parts, by the kind of part.
Json large_job(const std::string& of_what, int count) {
  Json job = a_job();
  Json& coordinator = job["spec"]["coordinator"]["template"];
  Json& container = coordinator["spec"]["containers"][0];
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("a{}", i);
    if (of_what == "arguments") container["args"].push_back("a");
    if (of_what == "labels") coordinator["metadata"]["labels"][name] = "1";
    if (of_what == "variables") container["env"].push_back({{"name", name}, {"value", "1"}});
  }
  return job;
}

std::string update_to(const Json& job, const Json& stored) {
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request",
               {{"uid", "u"},
                {"operation", "UPDATE"},
                {"kind", {{"kind", "NerveXJob"}}},
                {"object", job},
                {"oldObject", stored}}}}
      .dump();
}

// The response to a review within `budget`, or the HTTP status if it is not a review.
Json response_to(const std::string& body, MemoryBudget& budget, Hook hook = Hook::kValidate) {
  Sources sources = sources_with(job_check());
  sources.review_bytes = budget.bytes();
  const auto review = bounded(
      budget, 0ms, [&](const HttpRequest& request) { return answer(request, hook, sources); });
  const HttpReply reply = review(request_with(body));
  if (reply.status != 200) return {{"allowed", false}, {"status", {{"code", reply.status}}}};
  return Json::parse(reply.body)["response"];
}

}  // namespace

TEST_CASE("a job that can be created can be changed, also after it has run", "[webhook][bounded]") {
  const std::string of_what = GENERATE("arguments", "labels", "variables");
  MemoryBudget budget(kReviewBytes);
  INFO(of_what);
  int largest = 0;
  for (int count = 30'000;; count = count * 5 / 4) {
    const Json job = large_job(of_what, count);
    const Json created = response_to(make_review(job.dump()), budget);
    if (created["allowed"] == false) {
      CHECK(created["status"]["code"] == 413);
      break;
    }
    largest = count;
    // As the controller and nervex-server may leave it.
    Json stored = job;
    for (int i = 0; i < 5000; ++i) {
      stored["status"]["ended"].push_back(
          {{"role", "collector"}, {"ordinal", i}, {"incarnation", 1}, {"succeeded", true}});
      stored["spec"]["requests"]["entries"][0]["slots"].push_back({{"ordinal", i}});
    }
    Json suspended = stored;
    suspended["spec"]["suspend"] = true;
    const Json changed = response_to(update_to(suspended, stored), budget);
    INFO(count << ": " << changed.dump().substr(0, 300));
    CHECK(changed["allowed"] == true);
  }
  CHECK(largest >= 30'000);
}

TEST_CASE("a job whose status could not be stored is refused", "[webhook][bounded]") {
  MemoryBudget budget(kReviewBytes);
  const auto job_of = [](std::size_t bytes) {
    Json job = large_job("arguments", 1);
    const std::size_t rest = job.dump().size() + 2;
    job["spec"]["group"] = "";
    job["metadata"]["annotations"]["script"] = std::string(bytes - rest, 'x');
    return job;
  };
  const Json refused = response_to(make_review(job_of(1570 << 10U).dump()), budget);
  CHECK(refused["allowed"] == false);
  CHECK(refused["status"]["code"] == 413);
  CHECK(refused["status"]["message"] ==
        "NerveXJob.nervex.sensetime.com \"dqn\" is too large: it has more than 1280 KiB as JSON, "
        "managedFields included. etcd stores at most 1536 KiB, and the rest is for its status. "
        "Move large texts, such as scripts, into a ConfigMap");
  CHECK(response_to(make_review(job_of(1279 << 10U).dump()), budget)["allowed"] == true);
  // Created by an older version: it can be suspended.
  const Json stored = job_of(1500 << 10U);
  Json suspended = stored;
  suspended["spec"]["suspend"] = true;
  CHECK(response_to(update_to(suspended, stored), budget)["allowed"] == true);
}

TEST_CASE("a job does not grow until it cannot be changed, but may shrink", "[webhook][bounded]") {
  const Json small = large_job("variables", 10);
  const Json large = large_job("variables", 20'000);
  const Json larger = large_job("variables", 20'100);
  MemoryBudget budget(update_memory(large.dump()));
  const auto hook = GENERATE(Hook::kMutate, Hook::kValidate);
  CHECK(response_to(update_to(small, larger), budget, hook)["allowed"] == true);
  Json suspended = larger;  // created by an older version
  suspended["spec"]["suspend"] = true;
  CHECK(response_to(update_to(suspended, larger), budget, hook)["allowed"] == true);
  for (const Json& stored : {small, large}) {
    const Json refused = response_to(update_to(larger, stored), budget, hook);
    CHECK(refused["allowed"] == false);
    CHECK(refused["status"]["code"] == 413);
    CHECK(refused["status"]["message"] ==
          "NerveXJob.nervex.sensetime.com \"dqn\" is too large: it has too many values, such as "
          "variables, labels or arguments. It could be created but never updated, because the "
          "review of an update contains the old and the new object");
  }
}

namespace {

const std::string kSmall = "{}";
const std::string kLarge = "[" + std::string(30'000, ',') + "]";

// A review that lasts until the test ends it.
struct Slow {
  std::atomic<int> begun = 0;
  std::atomic<bool> may_end = false;
  HttpReply operator()() {
    ++begun;
    testing::wait_until([this] { return may_end.load(); });
    return {200, "done"};
  }
};

}  // namespace

TEST_CASE("reviews share a budget of memory", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge) + review_memory(kSmall));
  Slow slow;
  const auto review = bounded(budget, 0ms, [&](const HttpRequest&) { return slow(); });
  std::jthread first([&] { CHECK(review(request_with(kLarge)).status == 200); });
  REQUIRE(testing::wait_until([&] { return slow.begun == 1; }));

  const HttpReply refused = review(request_with(kLarge));
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("Retry-After") == "1");  // or the API server does not ask again
  CHECK(refused.body == "nervex-webhook refused the request: too many large reviews at once\n");
  CHECK(slow.begun == 1);

  // Small reviews fit beside it.
  std::jthread second([&] { CHECK(review(request_with(kSmall)).status == 200); });
  CHECK(testing::wait_until([&] { return slow.begun == 2; }));
  slow.may_end = true;
  first.join();
  second.join();
  CHECK(review(request_with(kLarge)).status == 200);
}

TEST_CASE("a review waits for the memory that it needs", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge));
  Slow slow;
  const auto review = bounded(budget, 60s, [&](const HttpRequest&) { return slow(); });
  std::atomic<int> answered = 0;
  std::vector<std::jthread> callers;
  callers.reserve(5);
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&] {
      if (review(request_with(kLarge)).status == 200) ++answered;
    });
  }
  REQUIRE(testing::wait_until([&] { return slow.begun == 1; }));
  slow.may_end = true;
  callers.clear();
  CHECK(answered == 5);
}

TEST_CASE("reviews of one address leave memory to those of others", "[webhook][bounded]") {
  const std::size_t small = review_memory(kSmall);
  MemoryBudget budget(4 * small, 3 * small);
  Slow slow;
  const auto review = bounded(budget, 0ms, [&](const HttpRequest&) { return slow(); });
  const auto from = [](const std::string& peer, const std::string& body) {
    HttpRequest request = request_with(body);
    request.peer = peer;
    return request;
  };
  std::vector<std::jthread> flood;
  for (int i = 0; i < 3; ++i) {
    flood.emplace_back([&] { CHECK(review(from("10.0.0.1", kSmall)).status == 200); });
  }
  REQUIRE(testing::wait_until([&] { return slow.begun == 3; }));
  CHECK(review(from("10.0.0.1", kSmall)).status == 503);
  std::jthread honest([&] { CHECK(review(from("10.0.0.2", kSmall)).status == 200); });
  CHECK(testing::wait_until([&] { return slow.begun == 4; }));
  slow.may_end = true;
  flood.clear();
  honest.join();
  CHECK(review(from("10.0.0.1", kSmall)).status == 200);  // its memory was released
}

TEST_CASE("a review above its address's share runs alone", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge) + review_memory(kSmall), review_memory(kSmall));
  Slow slow;
  const auto review = bounded(budget, 0ms, [&](const HttpRequest&) { return slow(); });
  {
    const std::jthread first([&] { CHECK(review(request_with(kSmall)).status == 200); });
    REQUIRE(testing::wait_until([&] { return slow.begun == 1; }));
    CHECK(review(request_with(kLarge)).status == 503);
    slow.may_end = true;
  }
  CHECK(review(request_with(kLarge)).status == 200);
}

TEST_CASE("a review above the whole budget is refused at once", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge) - 1);
  const auto review = bounded(budget, 60s, [](const HttpRequest&) { return HttpReply{}; });
  const HttpReply refused = review(request_with(kLarge));
  CHECK(refused.status == 413);
  CHECK(refused.body ==
        "nervex-webhook refused the request: the review contains too many values\n");
}

}  // namespace nervex::webhook
