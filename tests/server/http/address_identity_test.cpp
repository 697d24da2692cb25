#include "server/http/address_identity.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <optional>

#include "job/names.h"
#include "job/server_token.h"
#include "job/types.h"

namespace nervex::server {
namespace {

Json owner(std::string_view kind) {
  return {{"apiVersion", job::kApiVersion},
          {"kind", kind},
          {"name", "dqn"},
          {"uid", "j1"},
          {"controller", true}};
}

// A running pod of a job at 10.0.0.7, changed by `patch`.
Json pod(const Json& patch = Json::object()) {
  Json made = {{"metadata",
                {{"name", "dqn-coordinator"},
                 {"namespace", "rl"},
                 {"uid", "u1"},
                 {"labels", {{job::kGroupLabel, job::kGroupLabelValue}}},
                 {"ownerReferences", Json::array({owner(job::kKind)})}}},
               {"spec", {{"containers", Json::array()}}},
               {"status", {{"phase", "Running"}, {"podIP", "10.0.0.7"}}}};
  made.merge_patch(patch);
  return made;
}

Json with_token(const std::string& audience) {
  Json made = pod();
  made["spec"]["volumes"] = Json::array(
      {{{"name", "other"}, {"emptyDir", Json::object()}},
       {{"name", "t"},
        {"projected",
         {{"sources",
           Json::array({{{"configMap", {{"name", "ca"}}}},
                        {{"serviceAccountToken", {{"audience", audience}, {"path", "t"}}}}})}}}}});
  return made;
}

}  // namespace

TEST_CASE("a request without a token is of the only live pod at its address",
          "[server][auth][transition]") {
  struct Row {
    std::string when;
    Json pods;
    std::optional<Code> want;  // nullopt: the pod
    std::string says;
  };
  const Json deleted = {{"metadata", {{"deletionTimestamp", "2026-11-21T14:00:00Z"}}}};
  const Json in_node = {{"spec", {{"hostNetwork", true}}}};
  const Json finished = {{"metadata", {{"uid", "u0"}}}, {"status", {{"phase", "Failed"}}}};
  const Json succeeded = {{"status", {{"phase", "Succeeded"}}}};
  const auto row = GENERATE_COPY(values<Row>({
      {"one pod has it", {pod()}, std::nullopt, ""},
      {"it waits for its containers",
       {pod({{"status", {{"phase", "Pending"}}}})},
       std::nullopt,
       ""},
      {"its token is for others", {with_token("vault")}, std::nullopt, ""},
      {"a finished pod had it before", {pod(finished), pod()}, std::nullopt, ""},
      {"no pod has it", Json::array(), Code::kTransient, "no pod has the address 10.0.0.7"},
      {"its pod has finished", {pod(succeeded)}, Code::kTransient, "no pod"},
      {"the answer names another address",
       {pod({{"status", {{"podIP", "10.0.0.70"}}}})},
       Code::kTransient,
       "no pod"},
      {"two live pods have it",
       {pod(), pod({{"metadata", {{"uid", "u2"}}}})},
       Code::kTransient,
       "several pods"},
      {"a pod that is being deleted still has it",
       {pod(deleted), pod({{"metadata", {{"uid", "u2"}}}})},
       Code::kTransient,
       "several pods"},
      {"the pod is being deleted", {pod(deleted)}, Code::kTransient, "being deleted"},
      {"the address is its node's", {pod(in_node)}, Code::kUnauthorized, "node's network"},
      {"the address is its node's, and of others there",
       {pod(in_node), pod(in_node)},
       Code::kUnauthorized,
       "node's network"},
      {"the pod has not the label of jobs' pods",
       {pod({{"metadata", {{"labels", nullptr}}}})},
       Code::kUnauthorized,
       "no job"},
      {"the pod has no owner",
       {pod({{"metadata", {{"ownerReferences", nullptr}}}})},
       Code::kUnauthorized,
       "no job"},
      {"the pod is of another kind of owner",
       {pod({{"metadata", {{"ownerReferences", Json::array({owner("Job")})}}}})},
       Code::kUnauthorized,
       "no job"},
      {"the pod has a token",
       {with_token(job::kServerTokenAudience)},
       Code::kUnauthorized,
       "has a token"},
  }));
  INFO("when " << row.when);
  const auto who = identify_by_address("10.0.0.7", {{"items", row.pods}});
  REQUIRE(who.has_value() == !row.want);
  if (who) {
    CHECK(who->pod_ns == "rl");
    CHECK(who->pod_name == "dqn-coordinator");
    CHECK(who->pod_uid == "u1");
    CHECK(who->user.empty());
  } else {
    CHECK(who.error().code == *row.want);
    CHECK(who.error().message.find(row.says) != std::string::npos);
  }
}

}  // namespace nervex::server
