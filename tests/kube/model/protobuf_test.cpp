#include "kube/model/protobuf.h"

#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "kube/model/json.h"
#include "kube/model/pod.h"
#include "kube/model/watch.h"
#include "tests/support/golden.h"

namespace nervex::kube {
namespace {

using nervex::testing::golden;

// All that any program asks for.
const PodFilter kAll{.label_keys = {"app", "empty", "nervexjob-name"},
                     .annotation_keys = {"note", "nervex.sensetime.com/slot"},
                     .finalizer = "nervex.sensetime.com/job-tracking",
                     .detail_label = "nervexjob-name",
                     .scheduling_annotation = "nervex.sensetime.com/slot",
                     .spec_label = "app"};

// A watch's frames: four bytes of length, the highest first, before each.
std::vector<std::string> split_frames(std::string_view stream) {
  std::vector<std::string> frames;
  while (stream.size() >= 4) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(stream[i]);
    frames.emplace_back(stream.substr(4, size));
    stream.remove_prefix(4 + size);
  }
  return frames;
}

std::vector<std::string> split_text_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void check_same_pod(std::string_view decoded, std::string_view as_json) {
  const PodFilter filter = GENERATE(as<PodFilter>{}, kAll, PodFilter{});
  const auto pod = decode_pod(decoded, filter);
  const auto expected = decode_pod(as_json, filter);
  REQUIRE(pod);
  REQUIRE(expected);
  INFO(decoded);
  CHECK(*pod == *expected);
}

TEST_CASE("a list of pods says the same in both encodings", "[kube][protobuf][golden]") {
  const std::string body = golden("kube/pods.json");
  const auto json = json_of_protobuf(golden("kube/pods.pb"));
  REQUIRE(json);
  const auto page = split_list(*json);
  const auto expected = split_list(body);
  REQUIRE(page);
  REQUIRE(expected);
  CHECK(page->resource_version == expected->resource_version);
  REQUIRE(page->items.size() == 5);
  const auto at = GENERATE(range(0, 5));
  INFO("pod " << at);
  check_same_pod(page->items[static_cast<std::size_t>(at)],
                 expected->items[static_cast<std::size_t>(at)]);
}

// Field numbers of k8s.io/api/core/v1 generated.proto, v0.36.
TEST_CASE("restart rules of a container are read", "[kube][protobuf]") {
  std::string codes;
  protozero::pbf_writer exit_codes(codes);
  exit_codes.add_string(1, "In");
  exit_codes.add_int32(2, 42);
  exit_codes.add_int32(2, 0);
  std::string rule;
  protozero::pbf_writer(rule).add_string(1, "Restart");
  protozero::pbf_writer(rule).add_bytes(2, codes);
  std::string container;
  protozero::pbf_writer(container).add_string(1, "c");
  protozero::pbf_writer(container).add_bytes(25, rule);
  std::string spec;
  protozero::pbf_writer(spec).add_bytes(2, container);
  std::string pod;
  protozero::pbf_writer(pod).add_bytes(2, spec);
  std::string kind;
  protozero::pbf_writer(kind).add_string(1, "v1");
  protozero::pbf_writer(kind).add_string(2, "Pod");
  std::string unknown = std::string("k8s\0", 4);
  protozero::pbf_writer envelope(unknown);
  envelope.add_bytes(1, kind);
  envelope.add_bytes(2, pod);
  const auto json = json_of_protobuf(unknown);
  REQUIRE(json);
  CHECK(json->find(R"("restartPolicyRules":[{"action":"Restart","exitCodes":)"
                   R"({"operator":"In","values":[42,0]}}])") != std::string::npos);
}

TEST_CASE("a list of no pods is a list", "[kube][protobuf][golden]") {
  const auto json = json_of_protobuf(golden("kube/no_pods.pb"));
  REQUIRE(json);
  const auto page = split_list(*json);
  REQUIRE(page);
  CHECK(page->items.empty());
  CHECK_FALSE(page->resource_version.empty());
}

TEST_CASE("events of a watch say the same in both encodings", "[kube][protobuf][golden]") {
  const auto frames = split_frames(golden("kube/pods_watch.pb"));
  const auto lines = split_text_lines(golden("kube/pods_watch.json"));
  REQUIRE(frames.size() == 6);
  REQUIRE(lines.size() == 6);
  const auto at = static_cast<std::size_t>(GENERATE(range(0, 6)));
  INFO("event " << at);
  const auto line = json_of_watch_event(frames[at]);
  REQUIRE(line);
  const auto event = split_watch_line(*line);
  const auto expected = split_watch_line(lines[at]);
  REQUIRE(event);
  REQUIRE(expected);
  CHECK(event->type == expected->type);
  CHECK(event->resource_version == expected->resource_version);
  CHECK(event->ends_initial_events == expected->ends_initial_events);
  if (event->type != WatchType::kBookmark) check_same_pod(event->object, expected->object);
}

TEST_CASE("a deleted pod is identified", "[kube][protobuf][golden]") {
  const std::string added = split_frames(golden("kube/pods_watch.pb")).front();
  protozero::pbf_reader reader(added);
  REQUIRE(reader.next(2));
  std::string deleted;
  protozero::pbf_writer(deleted).add_string(1, "DELETED");
  protozero::pbf_writer(deleted).add_bytes(2, reader.get_view());

  const auto whole = json_of_watch_event(added);
  const auto line = json_of_watch_event(deleted);
  REQUIRE(whole);
  REQUIRE(line);
  const auto before = split_watch_line(*whole);
  const auto event = split_watch_line(*line);
  REQUIRE(before);
  REQUIRE(event);
  CHECK(event->type == WatchType::kDeleted);
  CHECK(event->resource_version == before->resource_version);
  const auto gone = identify(event->object);
  const auto pod = identify(before->object);
  REQUIRE(gone);
  REQUIRE(pod);
  CHECK(gone->key == pod->key);
  CHECK(gone->uid == pod->uid);
  CHECK(parse_json(event->object)->size() == 1);  // the rest is not read
}

TEST_CASE("an error's Status says the same in both encodings", "[kube][protobuf][golden]") {
  const auto json = json_of_protobuf(golden("kube/status.pb"));
  REQUIRE(json);
  const Error error = status_error("list pods", 400, *json);
  const Error expected = status_error("list pods", 400, golden("kube/status.json"));
  CHECK(error.code == expected.code);
  CHECK(error.message == expected.message);
}

TEST_CASE("only the collection of all pods is asked for in protobuf", "[kube][protobuf]") {
  CHECK(has_protobuf("/api/v1/pods"));
  CHECK(has_protobuf("/api/v1/pods?labelSelector=a%3Db&watch=1"));
  CHECK_FALSE(has_protobuf("/api/v1/nodes"));
  CHECK_FALSE(has_protobuf("/api/v1/namespaces/a/pods/p"));
}

TEST_CASE("anything but protobuf of a known kind is refused", "[kube][protobuf]") {
  const std::string body = GENERATE(as<std::string>{}, "", "k8s", "{}", std::string("k8s\0", 4),
                                    std::string("k8s\0\x0a\xff\xff\xff\xff\x0f", 10),
                                    std::string("k8s\0\x0a\x06\x12\x04Node", 12));
  INFO(body);
  const auto json = json_of_protobuf(body);
  REQUIRE_FALSE(json);
  CHECK(json.error().code == Code::kInvalid);
  CHECK_FALSE(json_of_watch_event(body));
}

TEST_CASE("damaged protobuf is refused or read as JSON", "[kube][protobuf][property]") {
  const auto seed = GENERATE(take(1, Catch::Generators::random(1, 1'000'000)));
  INFO("seed " << seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string whole = golden("kube/pods.pb");
  for (int round = 0; round < 2'000; ++round) {
    std::string damaged = whole;
    for (auto left = random() % 4; left > 0; --left) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 2 == 0) damaged.resize(random() % damaged.size());
    if (const auto json = json_of_protobuf(damaged)) CHECK(parse_json(*json));
  }
}

}  // namespace
}  // namespace nervex::kube
