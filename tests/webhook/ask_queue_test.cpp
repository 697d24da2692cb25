// The questions of webhook/facts.h about a job's queue.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"
#include "tests/webhook/samples.h"
#include "webhook/facts.h"

namespace nervex::webhook {
namespace {

using Texts = std::vector<std::string>;

Json job_in(const std::string& queue) {
  Json job = a_job();
  if (!queue.empty()) job["spec"]["queue"] = queue;
  return job;
}

kube::AdmissionRequest create(Json job) {
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.kind = "NerveXJob";
  request.ns = "rl";
  request.object = std::move(job);
  return request;
}

kube::AdmissionRequest update(Json old_job, Json job) {
  auto request = create(std::move(job));
  request.operation = "UPDATE";
  request.old_object = std::move(old_job);
  return request;
}

void add_namespace(testing::FakeApi& api, const std::string& queue_label) {
  Json labels = {{"team", "vision"}};
  if (!queue_label.empty()) labels["nervex.sensetime.com/queue"] = queue_label;
  api.add(kube::kNamespaces, "", {{"metadata", {{"name", "rl"}, {"labels", labels}}}});
}

// Selects the namespaces of that team; "": those whose label names it.
void add_queue(testing::FakeApi& api, const std::string& name, const std::string& team) {
  Json spec = Json::object();
  if (!team.empty()) spec["namespaceSelector"] = {{"matchLabels", {{"team", team}}}};
  api.add(kube::kQueues, "", {{"metadata", {{"name", name}}}, {"spec", spec}});
}

// Answers are not kept from one question to the next.
Facts asked(testing::FakeApi& api, const kube::AdmissionRequest& request) {
  const testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  Facts facts;
  ask_queue(request, answers, facts);
  return facts;
}

Texts texts(const job::FieldErrors& errors) {
  Texts out;
  for (const auto& error : errors) {
    out.push_back(error.field + ": " + job::field_error_message(error));
  }
  return out;
}

TEST_CASE("a job is refused in a queue that does not allow its namespace", "[webhook][facts]") {
  struct Row {
    std::string when;
    std::string of_job;
    std::string of_namespace;
    Texts errors;
    Texts warnings;
  };
  const std::string label = ", named by the namespace's label nervex.sensetime.com/queue";
  const std::string waits = ": the job waits until it does";
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is named", "", "", {}, {}},
      {"the job's queue allows it", "vision", "", {}, {}},
      {"the job's queue does not",
       "speech",
       "",
       {"spec.queue: Forbidden: queue speech does not allow namespace rl (namespaceSelector)"},
       {}},
      {"the job's queue does not exist",
       "missing",
       "",
       {},
       {"spec.queue: queue missing does not exist" + waits}},
      {"the namespace's queue is its own", "", "own", {}, {}},
      {"the namespace's queue does not allow it",
       "",
       "speech",
       {"spec.queue: Forbidden: queue speech does not allow namespace rl (namespaceSelector)" +
        label},
       {}},
      {"the namespace's queue does not exist",
       "",
       "missing",
       {},
       {"spec.queue: queue missing does not exist" + label + waits}},
      {"the job's queue goes before the namespace's", "vision", "speech", {}, {}},
      {"the namespace's label is no name",
       "",
       "No_Name",
       {},
       {"spec.queue: queue No_Name does not exist" + label + waits}},
  }));
  INFO("when " << row.when);
  testing::FakeApi api;
  add_namespace(api, row.of_namespace);
  add_queue(api, "vision", "vision");
  add_queue(api, "speech", "speech");
  add_queue(api, "own", "");
  const Facts facts = asked(api, create(job_in(row.of_job)));
  CHECK(texts(facts.errors) == row.errors);
  CHECK(facts.warnings == row.warnings);
  CHECK(facts.queue_error.empty());
}

TEST_CASE("an update is asked about only if it names another queue", "[webhook][facts]") {
  testing::FakeApi api;
  add_namespace(api, "");
  add_queue(api, "speech", "speech");
  Json suspended = job_in("speech");
  suspended["spec"]["suspend"] = true;
  CHECK(asked(api, update(job_in("speech"), suspended)).errors.empty());
  CHECK(api.requests() == 0);
  CHECK(asked(api, update(job_in("speech"), job_in(""))).errors.empty());
  CHECK(api.requests() == 1);  // its namespace names none
  CHECK(asked(api, update(job_in("vision"), job_in("speech"))).errors.size() == 1);
}

TEST_CASE("without an answer about its queue a job passes with a warning", "[webhook][facts]") {
  testing::FakeApi api;
  add_namespace(api, "");
  add_queue(api, "speech", "speech");
  const std::string kind = GENERATE("namespaces", "queues");
  api.fail_next("GET", kind, {Code::kTransient, "timeout"});
  const Facts facts = asked(api, create(job_in("speech")));
  CHECK(facts.errors.empty());
  CHECK(facts.warnings ==
        Texts{"spec.queue was not checked: if its queue does not allow the namespace, the job "
              "waits"});
  CHECK(facts.queue_error == "timeout");
}

TEST_CASE("a job is judged by what its queue and its namespace were a few seconds ago",
          "[webhook][facts][recent_answers]") {
  testing::FakeApi api;
  testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  const auto errors = [&](const std::string& queue) {
    Facts facts;
    ask_queue(create(job_in(queue)), answers, facts);
    return facts.errors.size();
  };
  add_namespace(api, "vision");
  CHECK(errors("") == 0);  // such a queue does not exist yet
  add_queue(api, "vision", "speech");
  CHECK(errors("") == 1);  // a new queue counts at once
  CHECK(errors("vision") == 1);
  const int requests = api.requests();
  api.remove(kube::kQueues, "", "vision");
  add_queue(api, "vision", "vision");
  api.remove(kube::kNamespaces, "", "rl");
  add_namespace(api, "none");
  CHECK(errors("") == 1);
  CHECK(api.requests() == requests);
  clock.advance(RecentAnswers::kAge);
  CHECK(errors("") == 0);
  CHECK(errors("vision") == 0);
}

TEST_CASE("a queue's name cannot change the API path", "[webhook][facts]") {
  testing::FakeApi api;
  add_namespace(api, "");
  const Facts facts =
      asked(api, create(job_in(GENERATE("../nodes", "a/status", "..", "a?watch=true"))));
  CHECK(api.requests() == 1);  // of the namespace
  CHECK(facts.errors.empty());
}

}  // namespace
}  // namespace nervex::webhook
