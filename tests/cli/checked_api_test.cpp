#include "cli/checked_api.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::cli {
namespace {

const std::string kJobsPath = "/apis/nervex.sensetime.com/v1alpha1/namespaces/rl/nervexjobs";
constexpr std::string_view kReply =
    R"({"apiVersion":"nervex.sensetime.com/v1alpha1","kind":"NerveXJob","metadata":{"name":"dqn"}})";
constexpr std::string_view kReplyOfOtherKind =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dqn"}})";

TEST_CASE("a reply about something else is an error", "[cli][checked_api]") {
  struct Row {
    std::string when;
    kube::ApiRequest request;
    std::string_view reply;
    std::string want;  // "": the reply is accepted
  };
  const std::string named = R"({"kind":"NerveXJob","metadata":{"name":"dqn"}})";
  const std::string generated = R"({"metadata":{"generateName":"dqn-"}})";
  const auto row = GENERATE_COPY(values<Row>({
      {"it is the object", {"GET", kJobsPath + "/dqn", "", ""}, kReply, ""},
      {"it has no API version, as some servers' replies",
       {"GET", kJobsPath + "/dqn", "", ""},
       R"({"metadata":{"name":"dqn"}})",
       ""},
      {"it is another object",
       {"PATCH", kJobsPath + "/other?dryRun=All", "{}", ""},
       kReply,
       "the reply is about \"dqn\" instead of \"other\""},
      {"it has no name",
       {"GET", kJobsPath + "/dqn", "", ""},
       "{}",
       "the reply is about no object instead of \"dqn\""},
      {"it is of another kind",
       {"GET", kJobsPath + "/dqn", "", ""},
       kReplyOfOtherKind,
       "the reply is a ConfigMap of v1 instead of nervex.sensetime.com/v1alpha1"},
      {"the namespace is the object",
       {"GET", "/api/v1/namespaces/rl", "", ""},
       R"({"apiVersion":"v1","metadata":{"name":"rl"}})",
       ""},
      {"it was created", {"POST", kJobsPath, named, ""}, kReply, ""},
      {"it was created with another name",
       {"POST", kJobsPath, named, ""},
       R"({"metadata":{"name":"x"}})",
       "the reply is about \"x\" instead of \"dqn\""},
      {"its name was generated",
       {"POST", kJobsPath, generated, ""},
       R"({"metadata":{"name":"dqn-x2b7k"}})",
       ""},
      {"no name was generated",
       {"POST", kJobsPath, generated, ""},
       "{}",
       "the reply is about no object instead of dqn-..."},
      {"a review has no name",
       {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}", ""},
       "{}",
       ""},
      {"a list has items", {"GET", kJobsPath, "", ""}, R"({"metadata":{},"items":[]})", ""},
      {"a list has no items", {"GET", kJobsPath, "", ""}, kReply, "list: it has no items"},
      {"a page of a list is checked elsewhere", {"GET", kJobsPath + "?limit=5", "", ""}, "{}", ""},
      {"a deletion answers what it likes", {"DELETE", kJobsPath + "/dqn", "{}", ""}, "{}", ""},
      {"so does a log", {"GET", "/api/v1/namespaces/rl/pods/p/log?limitBytes=1", "", ""}, "a", ""},
      {"and what is in no API group", {"GET", "/version", "", ""}, "{}", ""},
  }));
  INFO("when " << row.when);
  const auto checked = check_reply(row.request, row.reply);
  CHECK(checked.has_value() == row.want.empty());
  if (!checked) CHECK(checked.error().message.ends_with(": " + row.want));
  if (!checked) CHECK(checked.error().code == Code::kTransient);
}

}  // namespace
}  // namespace nervex::cli
