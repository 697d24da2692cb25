#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fmt/format.h>

#include "kube/model/json.h"
#include "kube/model/watch.h"

namespace nervex::kube {
namespace {

bool is_part_of(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

TEST_CASE("split_watch_line names the change and keeps the object's text", "[kube][watch]") {
  struct Row {
    std::string line;
    WatchType type;
    std::string object;
    std::string version;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p","resourceVersion":"7"}}})",
       WatchType::kAdded, R"({"kind":"Pod","metadata":{"name":"p","resourceVersion":"7"}})", "7"},
      {R"( { "object" : {"metadata":{"resourceVersion":"8"}, "x":[1, {"y":"}"}]}  , "type":"MODIFIED"} )",
       WatchType::kModified, R"({"metadata":{"resourceVersion":"8"}, "x":[1, {"y":"}"}]})", "8"},
      {R"({"type":"DELETED","object":{"metadata":{"labels":{"resourceVersion":"no"},"resourceVersion":"9"}}})",
       WatchType::kDeleted,
       R"({"metadata":{"labels":{"resourceVersion":"no"},"resourceVersion":"9"}})", "9"},
      {R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"10","creationTimestamp":null}}})",
       WatchType::kBookmark, R"({"metadata":{"resourceVersion":"10","creationTimestamp":null}})",
       "10"},
      {R"({"type":"ADDED","object":{}})", WatchType::kAdded, "{}", ""},
  }));
  const auto event = split_watch_line(row.line);
  REQUIRE(event);
  CHECK(event->type == row.type);
  CHECK(event->object == row.object);
  CHECK(event->resource_version == row.version);
  CHECK(is_part_of(event->object, row.line));
}

TEST_CASE("a bookmark may say that the initial events have ended", "[kube][watch]") {
  struct Row {
    std::string line;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}}})",
       true},
      {R"({"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"false"}}}})",
       false},
      {R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":null}}})",
       false},
      // Anybody may annotate an object so.
      {R"({"type":"ADDED","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}})",
       false},
  }));
  const auto event = split_watch_line(row.line);
  REQUIRE(event);
  CHECK(event->ends_initial_events == row.want);
}

TEST_CASE("an ERROR event is the error that its Status stands for", "[kube][watch]") {
  struct Row {
    std::string status;
    Code code;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"kind":"Status","status":"Failure","message":"too old resource version: 1 (5): list again","reason":"Expired","code":410})",
       Code::kExpired},
      {R"({"kind":"Status","message":"gone","reason":"Gone","code":410})", Code::kExpired},
      {R"({"kind":"Status","message":"too old","reason":"Expired"})", Code::kExpired},
      {R"({"kind":"Status","message":"storage is (re)initializing","reason":"TooManyRequests","code":429})",
       Code::kTransient},
      {R"({"kind":"Status","message":"boom","reason":"InternalError","code":500})",
       Code::kTransient},
      {"{}", Code::kTransient},
  }));
  const std::string line = R"({"type":"ERROR","object":)" + row.status + "}";
  const auto event = split_watch_line(line);
  REQUIRE_FALSE(event);
  INFO(event.error().message);
  CHECK(event.error().code == row.code);
}

TEST_CASE("split_watch_line refuses anything else", "[kube][watch]") {
  const auto* const line = GENERATE(
      "", "{}", "null", R"({"type":"ADDED"})", R"({"type":"ADDED","object":null})",
      R"({"type":"ADDED","object":7})", R"({"type":"EXPLODED","object":{}})", R"({"object":{}})",
      R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7")");
  INFO(line);
  const auto event = split_watch_line(line);
  REQUIRE_FALSE(event);
  CHECK(event.error().code == Code::kInvalid);
}

TEST_CASE("split_list finds the items' texts in the body", "[kube][watch]") {
  const std::string body =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"42","continue":"abc=",
          "remainingItemCount":3},"items":[{"metadata":{"name":"a","x":"]}"}}, {"metadata":{}} ,{}]})";
  const auto page = split_list(body);
  REQUIRE(page);
  CHECK(page->resource_version == "42");
  CHECK(page->continue_token == "abc=");
  CHECK(page->items == std::vector<std::string_view>{R"({"metadata":{"name":"a","x":"]}"}})",
                                                     R"({"metadata":{}})", "{}"});
  for (const auto item : page->items) CHECK(is_part_of(item, body));
}

TEST_CASE("a list may be empty", "[kube][watch]") {
  const auto* const items = GENERATE("[]", "null");
  const auto page =
      split_list(std::string(R"({"items":)") + items + R"(,"metadata":{"resourceVersion":"1"}})");
  REQUIRE(page);
  CHECK(page->items.empty());
  CHECK(page->resource_version == "1");
  CHECK(page->continue_token.empty());
}

TEST_CASE("split_list refuses anything but a list", "[kube][watch]") {
  const auto* const body = GENERATE("", "{}", "[]", R"({"kind":"Status","code":500})",
                                    R"({"items":[{"a":1},{"b")", R"({"items":[{])");
  INFO(body);
  CHECK_FALSE(split_list(body));
}

TEST_CASE("a list of thousands of items is split completely", "[kube][watch]") {
  std::string body = R"({"metadata":{"resourceVersion":"1"},"items":[)";
  for (int i = 0; i < 5000; ++i) {
    if (i > 0) body += ",";
    body += R"({"metadata":{"name":"p)" + std::to_string(i) + R"("},"spec":{"text":")" +
            std::string(300, 'x') + "\"}}";
  }
  body += "]}";
  const auto page = split_list(body);
  REQUIRE(page);
  REQUIRE(page->items.size() == 5000);
  CHECK(identify(page->items[4999])->key == "p4999");
}

TEST_CASE("identify reads the metadata only", "[kube][watch]") {
  const auto id = identify(
      R"({"spec":{"metadata":{"name":"no"}},"metadata":{"namespace":"a","name":"p","uid":"u","resourceVersion":"5"}})");
  REQUIRE(id);
  CHECK(*id == ObjectId{"a/p", "u", "5"});
  CHECK(identify(R"({"metadata":{"name":"n"}})")->key == "n");
  CHECK_FALSE(identify("{}"));
  CHECK_FALSE(identify("]"));
}

TEST_CASE("status_error says what the caller can do about it", "[kube][watch]") {
  struct Row {
    int status;
    Code code;
  };
  const auto row = GENERATE(values<Row>({
      {301, Code::kInvalid},
      {400, Code::kInvalid},
      {401, Code::kUnauthorized},
      {403, Code::kForbidden},
      {404, Code::kNotFound},
      {405, Code::kInvalid},
      {408, Code::kTransient},
      {409, Code::kConflict},
      {410, Code::kExpired},
      {413, Code::kInvalid},
      {415, Code::kInvalid},
      {422, Code::kInvalid},
      {429, Code::kTransient},
      {500, Code::kTransient},
      {503, Code::kTransient},
      {504, Code::kTransient},
  }));
  INFO(row.status);
  CHECK(status_error("get pod", row.status, "").code == row.code);
}

TEST_CASE("status_error recognises objects that are too large to store, for every status code",
          "[kube][watch]") {
  struct Row {
    int status;
    std::string message;
    Code code;
  };
  const auto row = GENERATE(values<Row>({
      {500, "etcdserver: request is too large", Code::kInvalid},
      {500,
       "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
       "(2160317 vs. 2097152)",
       Code::kInvalid},
      {413, "Request entity too large: limit is 3145728", Code::kInvalid},
      {500, "etcdserver: request timed out", Code::kTransient},
      {500, "etcdserver: too many requests", Code::kTransient},
      {429, "the request is too large for now", Code::kTransient},
  }));
  INFO(row.message);
  const Json status = {{"kind", "Status"}, {"code", row.status}, {"message", row.message}};
  const Error error = status_error("patch job", row.status, to_text(status));
  CHECK(error.code == row.code);
  CHECK(error.message.find(row.message) != std::string::npos);
}

TEST_CASE("status_error uses the API server's message", "[kube][watch]") {
  CHECK(status_error("create pod a/b", 403, R"({"kind":"Status","message":"exceeded quota"})") ==
        Error{Code::kForbidden, "create pod a/b: 403 exceeded quota"});
  CHECK(status_error("get", 503, "no endpoints\n").message == "get: 503 no endpoints");
  CHECK(status_error("get", 500, "").message == "get: 500");
  CHECK(status_error("get", 500, R"({"message":7,"reason":"Odd"})").message == "get: 500 Odd");
  CHECK(status_error("get", 500, "{broken").message == "get: 500 {broken");
}

TEST_CASE("status_error says that redirects are not followed", "[kube][watch]") {
  const int status = GENERATE(301, 302, 303, 307, 308);
  const Error error = status_error("list pods", status, "<a href=\"https://login/\">Found</a>.\n");
  CHECK(error.code == Code::kInvalid);
  CHECK(error.message ==
        fmt::format("list pods: {} the server redirects; redirects are not followed", status));
}

TEST_CASE("status_error cuts long words between characters", "[kube][watch]") {
  std::string words;
  while (words.size() < 3000) words += "\xc3\xa4";
  const Error error = status_error("x", 500, "{\"message\":\"" + words + "\"}");
  CHECK(error.message.size() <= 1024);
  CHECK(parse_json("\"" + error.message + "\""));  // still UTF-8
  CHECK(status_error("x", 500, words).message.size() <= 1024);
}

TEST_CASE("a scan knows nothing of the text before it", "[kube][watch]") {
  const std::string whole = R"({"metadata":{"name":"a"}}}}}}}}}}}}}}}}}})";
  const std::string cut = R"({"metadata":{"name":"a")";
  (void)identify(whole);  // leaves its braces where the next text ends
  CHECK_FALSE(identify(cut));
}

}  // namespace
}  // namespace nervex::kube
