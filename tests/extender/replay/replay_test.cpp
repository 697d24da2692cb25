#include "tests/extender/replay/replay.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "tests/extender/cluster.h"

namespace nervex::testing {
namespace {

std::string recorded(const char* at, const kube::ResourceKind& kind, const char* type,
                     const Json& object) {
  return Json{
      {"at", Json::parse(at)}, {"path", kube::api_path(kind)}, {"type", type}, {"object", object}}
      .dump();
}

// The nodes of the base gang in each status that the planner wrote.
std::vector<std::string> replayed(const std::vector<std::string>& lines) {
  std::vector<std::string> plans;
  Replay replay({}, [&](std::string_view line) {
    if (line.rfind("PATCH", 0) != 0) return;
    const Json patch = Json::parse(line.substr(line.find(" {") + 1));
    std::string nodes;
    for (const Json& role : patch["status"]["gangs"][0].value("placements", Json::array())) {
      for (const Json& run : role["nodes"]) nodes += run["node"].get<std::string>();
    }
    plans.push_back(nodes.empty() ? "waits" : nodes);
  });
  for (const std::string& line : lines) replay.apply(*parse_recorded(line));
  replay.finish();
  return plans;
}

TEST_CASE("a recorded gang is planned in each cycle until the recording has its plan", "[replay]") {
  ExtenderCluster cluster;
  cluster.add_node("n1", 8);
  cluster.add_group("a", {a_set("collector", 1, ask(1))});
  const Json node = cluster.api.list(kube::kNodes)[0];
  const Json group = cluster.api.list(kube::kPodGroups)[0];
  cluster.see();
  cluster.planner.schedule_once();
  const Json planned = cluster.api.list(kube::kPodGroups)[0];
  REQUIRE(planned != group);
  using Lines = std::vector<std::string>;
  CHECK(replayed({recorded("1800000000.5", kube::kPodGroups, "ADDED", group)}) == Lines{"waits"});
  CHECK(replayed({recorded("1800000000.5", kube::kNodes, "ADDED", node),
                  recorded("1800000000.5", kube::kPodGroups, "ADDED", group),
                  recorded("1800000000.9", kube::kPodGroups, "MODIFIED", planned)}) == Lines{"n1"});
  CHECK(replayed({recorded("1800000000.5", kube::kNodes, "ADDED", node),
                  recorded("1800000000.5", kube::kPodGroups, "ADDED", group),
                  recorded("1800000000.9", kube::kNodes, "DELETED", node),
                  recorded("1800000001.9", kube::kPodGroups, "DELETED", group)}) ==
        Lines{"n1", "waits"});
}

TEST_CASE("a line that is no recorded change is refused", "[replay]") {
  for (const char* line :
       {"", "{", "[]", R"({"at":1})", R"({"at":"x","path":"/api","type":"ADDED","object":{}})"}) {
    INFO(line);
    CHECK(!parse_recorded(line));
  }
}

}  // namespace
}  // namespace nervex::testing
