#include "job/server_token.h"

#include <catch2/catch_test_macros.hpp>

#include "job/pod_manifest.h"
#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_job;

Json make_pod_spec(const Job& job, bool server_token) {
  PodContext context;
  context.server_token = server_token;
  return pod_manifest(job, {}, context)["spec"];
}

TEST_CASE("with authentication on, every regular container finds the token", "[job][token]") {
  Job job = a_job();
  Json& spec = job.spec.coordinator_template["spec"];
  spec["containers"].push_back({{"name", "sidecar"}});
  const Json pod = make_pod_spec(job, true);
  CHECK(pod["volumes"] == Json::parse(R"([{"name":"nervex-server-token","projected":{"sources":[
    {"serviceAccountToken":{"audience":"nervex-server","expirationSeconds":3600,"path":"token"}}]}}])"));
  for (const auto& container : pod["containers"]) {
    CHECK(container["volumeMounts"] == Json::parse(R"([{"name":"nervex-server-token",
      "mountPath":"/var/run/secrets/nervex.sensetime.com/server","readOnly":true}])"));
    CHECK(container["env"].back()["name"] == "KUBERNETES_NERVEX_SERVER_TOKEN_FILE");
    CHECK(container["env"].back()["value"] == "/var/run/secrets/nervex.sensetime.com/server/token");
  }
}

TEST_CASE("with authentication off, no pod gets a token", "[job][token]") {
  const Json pod = make_pod_spec(a_job(), false);
  CHECK_FALSE(pod.contains("volumes"));
  CHECK(kube::to_text(pod).find("TOKEN") == std::string::npos);
}

TEST_CASE("a template's own volume and mount of that name stay", "[job][token]") {
  Json spec = Json::parse(R"({"volumes":[{"name":"nervex-server-token","emptyDir":{}}],
    "containers":[{"name":"a","volumeMounts":[
      {"name":"mine","mountPath":"/var/run/secrets/nervex.sensetime.com/server"}]}]})");
  const Json before = spec;
  add_server_token(spec);
  CHECK(spec == before);
}

TEST_CASE("a spec of the wrong shape causes no failure", "[job][token]") {
  for (const char* text : {R"({})", R"({"containers":3,"volumes":"x"})", R"({"containers":[1]})"}) {
    Json spec = Json::parse(text);
    add_server_token(spec);
    CHECK(spec["volumes"].size() == 1);
  }
}

}  // namespace
}  // namespace nervex::job
