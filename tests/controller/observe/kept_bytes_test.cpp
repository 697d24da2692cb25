// What caches keep of hostile objects, which have as many small values as fit.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "controller/observe/stores.h"
#include "gang/slot.h"
#include "job/kept.h"
#include "kube/cache/reflector.h"
#include "tests/support/kept_bytes.h"
#include "tests/support/sanitized.h"

namespace nervex::controller {
namespace {

using testing::kept_per_byte;
using testing::repeat;

// A suspended job of about 500 kB whose `where` is full of small values.
std::string hostile_job(int number, const std::string& where) {
  const auto here = [&](const char* part, const std::string& piece) {
    return where == part ? repeat(piece, 500'000) : std::string();
  };
  std::string labels;
  for (int i = 0; where == "labels" && i < 40'000; ++i) {
    labels += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  }
  return R"({"metadata":{"namespace":"rl","name":"j)" + std::to_string(number) +
         R"(","uid":"u","labels":{)" + labels +
         R"(}},"spec":{"suspend":true,"coordinator":{"template":{"spec":{"containers":[{"name":)" +
         R"("c","args":[)" + here("args", "\"\"") + R"(]}]}}},"collector":{"template":{"x":[)" +
         here("objects", "{}") + R"(]}},"volumes":[)" + here("volumes", R"({"name":"a"})") + "]}}";
}

TEST_CASE("what a cache keeps of a job is at most three times its text", "[job][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  for (const std::string where : {"args", "objects", "volumes", "labels"}) {
    const auto hostile = [&](int number) { return hostile_job(number, where); };
    kube::Store<job::Job> packed_jobs;
    const double kept = kept_per_byte(
        kube::sink_into<job::Job>(packed_jobs, job::parse_packed, nullptr), 20, hostile);
    CHECK(packed_jobs.size() == 21);
    INFO(where << ": " << kept << " bytes for each byte stored");
    CHECK(kept < 3);
    CHECK(kept > (where == "labels" ? 0.0 : 0.5));  // it measures

    kube::Store<job::Job> small_jobs;
    const double rest = kept_per_byte(
        kube::sink_into<job::Job>(small_jobs, job::parse_without_templates, nullptr), 20, hostile);
    CHECK(small_jobs.size() == 21);
    INFO(where << ": " << rest << " bytes without templates");
    CHECK(rest < 0.1);
  }
}

TEST_CASE("what a cache keeps of all jobs together has a bound", "[job][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  kube::Store<job::Job> jobs;
  KeptTemplates templates(jobs, 4'000'000, 4'000'000);
  const auto fit = [&](std::string_view json) {
    auto job = job::parse_packed(json);
    return job ? templates.fit(*std::move(job)) : std::move(job);
  };
  const auto changed = [&](const auto&, const auto& after) { templates.recount(after->meta); };
  const double kept = kept_per_byte(kube::sink_into<job::Job>(jobs, fit, changed), 40,
                                    [](int number) { return hostile_job(number, "args"); });
  CHECK(jobs.size() == 41);
  INFO(kept << " bytes for each byte stored");
  CHECK(kept < 0.25);  // 4 of 20 MB, and 40 small jobs
  CHECK(kept > 0.1);   // it measures
}

TEST_CASE("document_bytes is about what a parsed document uses", "[json][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  for (const std::string where : {"args", "objects", "volumes", "labels"}) {
    const std::string text = hostile_job(1, where);
    const std::size_t before = testing::bytes_in_use();
    const auto document = kube::parse_json(text);
    const auto used = static_cast<double>(testing::bytes_in_use() - before);
    REQUIRE(document);
    const auto estimate = static_cast<double>(kube::document_bytes(*document));
    INFO(where << ": " << used << " bytes used, estimated " << estimate);
    CHECK(estimate > used * 2 / 3);
    CHECK(estimate < used * 3 / 2);
  }
}

// A pod with an annotation of 250 kB where a name or a number is expected.
std::string hostile_pod(int number) {
  return R"({"metadata":{"namespace":"rl","name":"p)" + std::to_string(number) +
         R"(","uid":"u","annotations":{")" + std::string(gang::kPodGroupUidAnnotation) + R"(":")" +
         std::string(250'000, 'x') + R"("}},"spec":{"containers":[{"name":"c","args":[)" +
         repeat("\"\"", 250'000) + "]}]}}";
}

TEST_CASE("what a cache keeps of a pod does not grow with its annotations and arguments",
          "[pods][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  kube::Store<kube::Pod> pods;
  const double kept =
      kept_per_byte(kube::sink_into<kube::Pod>(pods, decode_pod, nullptr), 40, hostile_pod);
  CHECK(pods.size() == 41);
  INFO(kept << " bytes for each byte stored");
  CHECK(kept < 0.05);
}

}  // namespace
}  // namespace nervex::controller
