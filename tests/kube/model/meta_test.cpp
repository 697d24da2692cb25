#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/meta.h"

namespace nervex::kube {
namespace {

TEST_CASE("decode_meta reads what is there and leaves the rest empty", "[kube][meta]") {
  const auto object = parse_json(R"({"metadata":{
      "namespace":"a","name":"dqn","uid":"u1","resourceVersion":"12","generation":3,
      "creationTimestamp":"2026-11-21T13:56:04Z","deletionTimestamp":"2026-11-21T14:00:00Z",
      "labels":{"x":"1","odd":7},"annotations":{"y":"2"},
      "ownerReferences":[{"kind":"Other","name":"o","uid":"u0"},
        {"apiVersion":"v1","kind":"Thing","name":"t","uid":"u2","controller":true}]}})");
  const Meta meta = decode_meta(*object);
  CHECK(meta.key() == "a/dqn");
  CHECK(meta.uid == "u1");
  CHECK(meta.resource_version == "12");
  CHECK(meta.generation == 3);
  CHECK(meta.deleting);
  CHECK(to_rfc3339(meta.created) == "2026-11-21T13:56:04Z");
  CHECK(meta.owner == OwnerRef{"v1", "Thing", "t", "u2"});
  CHECK(label(meta, "x") == "1");
  CHECK(label(meta, "odd").empty());
  CHECK(annotation(meta, "y") == "2");

  CHECK(decode_meta(Json()) == Meta{});
  CHECK(decode_meta({{"metadata", {{"name", 7}, {"labels", "none"}}}}) == Meta{});
  CHECK(decode_meta({{"metadata", {{"name", "n"}}}}).key() == "n");
}

TEST_CASE("a controller reference names the owner and blocks its deletion", "[kube][meta]") {
  const Json want = *parse_json(R"({"apiVersion":"v1","kind":"Thing","name":"t","uid":"u2",
                                    "controller":true,"blockOwnerDeletion":true})");
  CHECK(encode_controller_ref({"v1", "Thing", "t", "u2"}) == want);
}

TEST_CASE("resourceVersions compare as numbers or not at all", "[kube][meta]") {
  struct Row {
    std::string version;
    std::string than;
    bool newer;
  };
  const auto row = GENERATE(values<Row>({{"10", "9", true},
                                         {"9", "10", false},
                                         {"10", "10", false},
                                         {"123456789012345678901234567890", "5", true},
                                         {"", "1", false},
                                         {"1", "", false},
                                         {"b", "a", false}}));
  INFO(row.version << " than " << row.than);
  CHECK(is_newer_version(row.version, row.than) == row.newer);
}

TEST_CASE("a key names an object and its namespace", "[kube][meta]") {
  struct Row {
    std::string key;
    NamespacedName want;
  };
  const auto row = GENERATE(
      values<Row>({{"team-a/dqn", {"team-a", "dqn"}}, {"node-1", {"", "node-1"}}, {"", {"", ""}}}));
  INFO(row.key);
  CHECK(NamespacedName::parse(row.key) == row.want);
  CHECK(row.want.to_string() == row.key);
}

}  // namespace
}  // namespace nervex::kube
