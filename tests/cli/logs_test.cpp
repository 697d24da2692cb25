#include "cli/logs/read_log.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <deque>

#include "cli/logs/log_cursor.h"
#include "cli/logs/pod_choice.h"
#include "tests/support/fake_api.h"

namespace nervex::cli {
namespace {

kube::Pod a_pod(const std::string& role, const std::string& slot) {
  const Json object = {
      {"metadata",
       {{"name", "dqn-" + role},
        {"namespace", "rl"},
        {"uid", "u1"},
        {"labels", {{"replica-type", role}, {"group-name", "nervex.sensetime.com"}}},
        {"annotations",
         {{"nervex.sensetime.com/pod-group-uid", "g"},
          {"nervex.sensetime.com/slot", slot},
          {"nervex.sensetime.com/incarnation", "0"},
          {"nervex.sensetime.com/placement", "1"}}}}},
      {"spec", Json::object()}};
  return *kube::decode_pod(kube::to_text(object), chosen_pod_filter());
}

TEST_CASE("pods are chosen by role and ordinal", "[cli][logs]") {
  const kube::Pod learner = a_pod("learner", "learner/3");
  const kube::Pod coordinator = a_pod("coordinator", "coordinator/0");
  struct Row {
    std::string text;
    bool has_learner, has_coordinator, is_single;
  };
  const auto row = GENERATE(values<Row>({{"", false, true, true},
                                         {"coordinator", false, true, true},
                                         {"learner", true, false, false},
                                         {"learner/3", true, false, true},
                                         {"learner/4", false, false, true}}));
  INFO(row.text);
  const auto choice = parse_pod_choice(row.text);
  REQUIRE(choice);
  CHECK(is_chosen(*choice, learner) == row.has_learner);
  CHECK(is_chosen(*choice, coordinator) == row.has_coordinator);
  CHECK(is_single(*choice) == row.is_single);
  CHECK(is_chosen({}, learner));
  CHECK(pod_title(learner) == "learner/3");
  CHECK(pod_title(coordinator) == "coordinator");
}

TEST_CASE("a role that does not exist, or a wrong ordinal, is refused", "[cli][logs]") {
  for (const char* text :
       {"worker", "learner/", "learner/x", "learner/-1", "learner/99999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_pod_choice(text));
  }
}

std::string stamped(int second, const std::string& text) {
  return fmt::format("2026-11-21T14:00:{:02}.000000001Z {}", second, text);
}

TEST_CASE("lines that a new connection repeats are printed once", "[cli][logs]") {
  LogCursor cursor;
  CHECK(cursor.since().empty());
  CHECK(cursor.take(stamped(1, "a")) == "a");
  CHECK(cursor.take(stamped(2, "b")) == "b");
  CHECK(cursor.take(stamped(2, "b")) == "b");  // the program wrote it twice
  CHECK(cursor.since() == "2026-11-21T14:00:02.000000001Z");
  cursor.reconnect();
  CHECK_FALSE(cursor.take(stamped(1, "a")));
  CHECK_FALSE(cursor.take(stamped(2, "b")));
  CHECK_FALSE(cursor.take(stamped(2, "b")));
  CHECK(cursor.take(stamped(2, "b")) == "b");  // and once more meanwhile
  CHECK(cursor.take(stamped(3, "")) == "");
  CHECK(cursor.take("no time stamp") == "no time stamp");
  cursor.reconnect();
  CHECK_FALSE(cursor.take(stamped(3, "")));
  CHECK(cursor.take(stamped(4, "c")) == "c");
  CHECK(cursor.take(stamped(3, "late")) == "late");  // lines may be a little out of order
}

// Answers requests for a log one after another, and reads of the pod with its current state.
class LogApi final : public kube::Api {
 public:
  struct Answer {
    std::vector<std::string> lines;
    std::optional<Error> error = std::nullopt;
    std::function<void()> then = [] {};
  };

  Result<std::string> send(const kube::ApiRequest&) override {
    if (pod.is_null()) return Error{Code::kNotFound, "404"};
    return kube::to_text(pod);
  }
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token) override {
    paths.push_back(path);
    REQUIRE_FALSE(answers.empty());
    const Answer answer = answers.front();
    answers.pop_front();
    for (const auto& line : answer.lines) on_line(line);
    answer.then();
    if (answer.error) return *answer.error;
    return ok();
  }
  void end_pod(int exit_code, const std::string& reason) {
    pod["status"] = {
        {"phase", exit_code == 0 ? "Succeeded" : "Failed"},
        {"containerStatuses",
         Json::array(
             {{{"name", "nervex-container"},
               {"state", {{"terminated", {{"exitCode", exit_code}, {"reason", reason}}}}}}})}};
  }

  Json pod = {{"metadata",
               {{"name", "dqn-coordinator"},
                {"namespace", "rl"},
                {"uid", "u1"},
                {"labels", {{"group-name", "nervex.sensetime.com"}}}}},
              {"status", {{"phase", "Running"}}}};
  std::deque<Answer> answers;
  std::vector<std::string> paths;
};

struct Read {
  std::vector<std::string> lines;
  Result<std::string> end = std::string();
};

Read read_all(LogApi& api, const LogOptions& options) {
  Read read;
  const kube::Pod pod = *kube::decode_pod(kube::to_text(api.pod), chosen_pod_filter());
  read.end = read_log(api, pod, options,
                      [&](std::string_view line) { read.lines.emplace_back(line); }, {});
  return read;
}

TEST_CASE("a followed log goes on over lost connections and ends with the pod's reason",
          "[cli][logs]") {
  LogApi api;
  api.answers = {
      {{stamped(1, "a")}, Error{Code::kTransient, "broken"}},
      {{}, Error{Code::kTransient, "429", std::chrono::seconds(0)}},
      {{stamped(1, "a"), stamped(2, "b")}, std::nullopt, [&] { api.end_pod(137, "OOMKilled"); }}};
  LogOptions options;
  options.follow = true;
  options.tail = 10;
  const Read read = read_all(api, options);
  CHECK(read.lines == std::vector<std::string>{"a", "b"});
  REQUIRE(read.end);
  CHECK(*read.end == "OOMKilled, exit code 137");
  REQUIRE(api.paths.size() == 3);
  CHECK(api.paths[0] ==
        "/api/v1/namespaces/rl/pods/dqn-coordinator/log?container=nervex-container"
        "&timestamps=true&follow=true&tailLines=10");
  CHECK(api.paths[1].ends_with("&sinceTime=2026-11-21T14%3A00%3A01.000000001Z"));
}

TEST_CASE("a followed log ends when its pod is deleted or replaced", "[cli][logs]") {
  LogApi api;
  const bool is_replaced = GENERATE(true, false);
  api.answers = {{{stamped(1, "a")}, std::nullopt, [&] {
                    if (is_replaced) {
                      api.pod["metadata"]["uid"] = "u2";
                    } else {
                      api.pod = nullptr;
                    }
                  }}};
  LogOptions options;
  options.follow = true;
  const Read read = read_all(api, options);
  REQUIRE(read.end);
  CHECK(*read.end == "was deleted");
}

TEST_CASE("a log that may not be read is an error at once", "[cli][logs]") {
  LogApi api;
  api.answers = {{{}, Error{Code::kForbidden, "403"}}};
  LogOptions options;
  options.follow = true;
  const Read read = read_all(api, options);
  REQUIRE_FALSE(read.end);
  CHECK(read.end.error().code == Code::kForbidden);
}

TEST_CASE("without following a log is read once", "[cli][logs]") {
  LogApi api;
  api.answers = {{{stamped(1, "a")}}};
  LogOptions options;
  options.previous = true;
  const Read read = read_all(api, options);
  CHECK(read.lines == std::vector<std::string>{"a"});
  CHECK(api.paths.at(0).ends_with("&previous=true"));
}

}  // namespace
}  // namespace nervex::cli
