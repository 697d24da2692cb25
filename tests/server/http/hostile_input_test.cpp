// What hostile or broken callers may send to the replicas API: each is a clear 4xx in the envelope,
// costs no memory for good, and the next request is served. What never gets past the HTTP server is
// in tests/base/http/hostile_test.cpp.
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include <unistd.h>

#include "base/http/client.h"
#include "server/http/routes.h"
#include "tests/server/world.h"

namespace nervex::server {
namespace {

struct Serving {
  World world;
  std::unique_ptr<Authorizer> authorizer = allow_all();
  RequestLimits limits{16};
  Metrics metrics;
  HttpServer http{server_options("127.0.0.1:0", 64)};
  std::unique_ptr<HttpClient> client;

  Serving() {
    add_routes(
        http, world.replicas, *authorizer, limits, [] { return ok(); }, metrics);
    REQUIRE(http.start());
    HttpClientOptions to;
    to.url = "http://127.0.0.1:" + std::to_string(http.port());
    client = std::make_unique<HttpClient>(to);
  }

  HttpResponse send(const std::string& method, const std::string& path,
                    const std::string& body = "") {
    auto response = client->send(method, path, {}, body, "application/json");
    REQUIRE(response);
    return *response;
  }
};

constexpr const char* kPath = "/v1alpha1/replicas";

struct Endpoint {
  const char* method;
  const char* path;
};
constexpr Endpoint kAdd{"POST", "/v1alpha1/replicas"};
constexpr Endpoint kRemove{"DELETE", "/v1alpha1/replicas"};
constexpr Endpoint kReplace{"POST", "/v1alpha1/replicas/failed"};

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string with(const std::string& rest) {
  return R"({"namespace":"rl","coordinator":"dqn-coordinator")" + rest + "}";
}

std::string in_learners(const std::string& members) {
  return with(R"(,"learners":{)" + members + "}");
}

struct HostileRow {
  std::string when;
  std::string body;
  int status = 400;
};

// Invalid for every handler that reads a body.
std::vector<HostileRow> any_body() {
  const std::string deep = repeated("[", 100'000) + repeated("]", 100'000);
  return {
      {"it is empty", ""},
      {"it is blank", " \t\r\n"},
      {"it is half an object", R"({"namespace":"rl",)"},
      {"it is a word", "replicas"},
      {"it is null", "null"},
      {"it is a number", "1"},
      {"it is a string", R"("x")"},
      {"it is an array", "[{}]"},
      {"it is an empty object", "{}"},
      {"it is two objects", with("") + with("")},
      {"it is bytes of zero", std::string(100, '\0')},
      {"a zero byte follows", with("") + std::string(1, '\0')},
      {"it is UTF-16", std::string("{\0\"\0a\0\"\0:\0001\0}\0", 14)},
      {"it is a form", "namespace=rl&coordinator=dqn-coordinator"},
      {"it is nested deeper than any stack", deep},
      {"an unknown key holds that", with(R"(,"x":)" + deep)},
      {"objects are nested like that", repeated(R"({"a":)", 50'000) + "1" + repeated("}", 50'000)},
      {"a string has a raw control character", "{\"namespace\":\"r\x01l\",\"coordinator\":\"c\"}"},
      {"a string is not UTF-8", "{\"namespace\":\"r\xFFl\",\"coordinator\":\"c\"}"},
      {"a string has half a surrogate pair", R"({"namespace":"\ud800","coordinator":"c"})"},
      {"a string has no end", R"({"namespace":"rl)"},
      {"a long string has no end", R"({"namespace":")" + repeated("a", 100'000)},
      {"a number is beyond any double", with(R"(,"x":1e999999)")},
      {"a number has no digits", with(R"(,"x":-)")},
      {"NaN is a number", with(R"(,"x":NaN)")},
      {"there is a comment", with(R"(/* hello */)")},
      {"a comma is too many", with(",")},
      {"the namespace is missing", R"({"coordinator":"dqn-coordinator"})"},
      {"the namespace is a number", R"({"namespace":1,"coordinator":"c"})"},
      {"the namespace is a list", R"({"namespace":["rl"],"coordinator":"c"})"},
      {"the namespace is null", R"({"namespace":null,"coordinator":"c"})"},
      {"the coordinator is an object", R"({"namespace":"rl","coordinator":{"a":1}})"},
      {"the coordinator is empty", R"({"namespace":"rl","coordinator":""})"},
      {"of two coordinators the last is none",
       R"({"namespace":"rl","coordinator":"dqn-coordinator","coordinator":false})"},
      {"the coordinator is longer than any name",
       R"({"namespace":"rl","coordinator":")" + repeated("a", 254) + "\"}"},
      {"the namespace fills the body",
       R"({"namespace":")" + repeated("a", 1'000'000) + R"(","coordinator":"c"})"},
      {"a group holds small arrays", with(R"(,"learners":[)" + repeated("[],", 300'000) + "1]")},
      {"a group holds small objects", with(R"(,"learners":[)" + repeated("{},", 300'000) + "1]")},
      {"a group comes again and again, and at last is a number",
       with(repeated(R"(,"learners":{})", 60'000) + R"(,"learners":1)")},
      {"an unknown key holds small arrays, and the coordinator is missing",
       R"({"namespace":"rl","x":[)" + repeated("[],", 300'000) + "1]}"},
      {"a group is a string", with(R"(,"learners":"all")")},
      {"a group is a number", with(R"(,"collectors":7)")},
      {"a group is a boolean", with(R"(,"collectors":false)")},
  };
}

// Of pods that cannot exist: found out without asking the API server about anything else.
std::vector<std::string> no_names() {
  return {".",       "..",         "../secrets/x", "a/b",
          "/",       "a%2Fb",      "a?watch=1",    "a#b",
          "a b",     "A",          "a_b",          "k\\u00f6ln",
          "\\u0000", "\\u001b[2J", "\\n",          "\\ud83d\\ude00",
          "'; drop", "a\\\\b"};
}

// Of the numbers in a group.
std::vector<HostileRow> counts() {
  std::vector<HostileRow> rows;
  for (const char* wrong :
       {"-1", "-9223372036854775808", "-9223372036854775809", "9223372036854775808",
        "18446744073709551615", "18446744073709551616", "99999999999999999999999999", "1e3",
        "1e308", "2.0", "0.5", "-0.0", R"("1")", R"("")", "true", "[1]", "{}"}) {
    rows.push_back({wrong, in_learners(R"("replicas":)" + std::string(wrong))});
  }
  return rows;
}

std::vector<HostileRow> amounts() {
  std::vector<HostileRow> rows;
  for (const char* key : {"cpus", "gpus", "memory"}) {
    for (const char* wrong :
         {"-1", R"("-1")", R"("")", R"(" ")", R"("--1")", R"("1 0")", R"("0x10")", R"("NaN")",
          R"("Infinity")", R"("1e999999999")", R"("1Gi1")", R"("١")", R"("1,5")", R"("1\u0000")",
          R"("99999999999Ei")", "1e300", "true", "[]", "{}"}) {
      const std::string members = R"("replicas":1,")" + std::string(key) + "\":" + wrong;
      rows.push_back({std::string(key) + " is " + wrong, in_learners(members)});
    }
    const std::string digits = R"("replicas":1,")" + std::string(key) + "\":\"";
    rows.push_back({std::string(key) + " is long", in_learners(digits + repeated("9", 65) + "\"")});
  }
  for (const char* gpus : {"1.5", R"("500m")", "1025", R"("1Mi")", "1000000", "1e18"}) {
    rows.push_back({std::string("gpus is ") + gpus,
                    in_learners(R"("replicas":1,"gpus":)" + std::string(gpus))});
  }
  rows.push_back({"replicas is above the limit", in_learners(R"("replicas":1001)")});
  rows.push_back(
      {"all limits are used at once", in_learners(R"("replicas":1000,"gpus":1024)"), 409});
  return rows;
}

std::vector<HostileRow> names() {
  return {
      {"a list is an object", with(R"(,"learners":{"replicas":1})")},
      {"a name is a number", with(R"(,"learners":[1])")},
      {"a name is a list", with(R"(,"collectors":[[]])")},
      {"a name is longer than any address",
       with(R"(,"learners":[")" + repeated("a", 5000) + "\"]")},
      {"names are more than any job has",
       with(R"(,"learners":["a")" + repeated(",\"a\"", 100'000) + "]")},
  };
}

void check_refused(Serving& serving, const Endpoint& to, const HostileRow& row) {
  INFO(to.method << " " << to.path << ": " << row.when);
  const HttpResponse reply = serving.send(to.method, to.path, row.body);
  if (to.path == kAdd.path && to.method == kAdd.method) {
    CHECK(reply.status == row.status);
  }
  CHECK(reply.status / 100 == 4);
  CHECK(reply.body.starts_with(R"({"success":false,"code":1,"message":")"));
  CHECK(reply.body.size() < 1000);  // nothing is echoed at length
  CHECK(kube::parse_json(reply.body));
}

// An endpoint that this version does not have yet answers 501 to everything.
bool is_there(Serving& serving, const Endpoint& endpoint) {
  return serving.send(endpoint.method, endpoint.path, with("")).status != 501;
}

void check_all(Serving& serving, const Endpoint& to, const std::vector<HostileRow>& rows) {
  if (!is_there(serving, to)) return;
  for (const auto& row : rows) check_refused(serving, to, row);
  CHECK(serving.send("GET", kPath).status == 200);
}

std::size_t resident_bytes() {
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("an empty or meaningless body is refused by every endpoint", "[server][hostile]") {
  Serving serving;
  for (const auto& to : {kAdd, kRemove, kReplace}) check_all(serving, to, any_body());
  CHECK(serving.world.requests_now().is_null());
}

TEST_CASE("invalid counts are refused", "[server][hostile]") {
  Serving serving;
  for (const auto& to : {kAdd, kRemove}) check_all(serving, to, counts());
  CHECK(serving.world.requests_now().is_null());
}

TEST_CASE("invalid amounts are refused", "[server][hostile]") {
  Serving serving;
  serving.world.surround_with(8, 80);
  check_all(serving, kAdd, amounts());
  CHECK(serving.world.requests_now().is_null());
}

TEST_CASE("invalid lists of names are refused", "[server][hostile]") {
  Serving serving;
  check_all(serving, kReplace, names());
  CHECK(serving.world.requests_now().is_null());
}

TEST_CASE("a pod's name cannot change the API path", "[server][hostile]") {
  Serving serving;
  for (const auto& to : {kAdd, kRemove, kReplace}) {
    if (!is_there(serving, to)) continue;
    const int before = serving.world.api.requests();
    for (const auto& name : no_names()) {
      const std::string as_pod = R"({"namespace":"rl","coordinator":")" + name + "\"}";
      const std::string as_ns = R"({"namespace":")" + name + R"(","coordinator":"c"})";
      check_refused(serving, to, {name, as_pod, 404});
      check_refused(serving, to, {name, as_ns, 404});
    }
    CHECK(serving.world.api.requests() == before);
  }
}

TEST_CASE("an invalid query is refused", "[server][hostile]") {
  struct Query {
    std::string text;
    int status;
  };
  Serving serving;
  const int before = serving.world.api.requests();
  for (const auto& [text, status] : std::vector<Query>{
           {"x=1", 400},
           {"namespace=rl&namespace=default", 400},
           {"namespace=rl&NAMESPACE=rl", 400},
           {"namespace=rl&coordinator=", 400},
           {"coordinator=c", 400},
           {"aggregator=a", 400},
           {"namespace=rl&coordinator=a&aggregator=b", 400},
           {"name=" + repeated("a", 254), 400},
           {repeated("a&", 300), 400},
           {"namespace=rl&coordinator=..", 404},
           {"namespace=rl&coordinator=%2e%2e%2fsecrets%2fx", 404},
           {"namespace=rl%2Fpods%2Fdqn-coordinator&coordinator=log", 404},
           {"namespace=rl&aggregator=%00", 404},
           {"namespace=rl&name=%1b%5b2J", 404},
           {"namespace=rl&name=%ff%fe", 404},
           {"name=%F0%9F%98%80", 404},
       }) {
    INFO(text);
    const HttpResponse reply = serving.send("GET", std::string(kPath) + "?" + text);
    CHECK(reply.status == status);
    CHECK(reply.body.starts_with(R"({"success":false,"code":1,"message":")"));
    CHECK(kube::parse_json(reply.body));
  }
  CHECK(serving.send("GET", kPath).status == 200);
  CHECK(serving.world.api.requests() == before);
}

TEST_CASE("odd bodies that Go's decoder accepts are accepted", "[server][hostile]") {
  Serving serving;
  for (const auto& [when, body] : std::vector<std::pair<std::string, std::string>>{
           {"unknown keys are many", with(repeated(R"(,"x":[{"y":null}])", 10'000))},
           {"an unknown key is nested, but not without end",
            with(R"(,"x":)" + repeated("[", 900) + repeated("]", 900))},
           {"a key stands twice: the last counts",
            R"({"namespace":7,"namespace":"rl","coordinator":"dqn-coordinator"})"},
           {"groups are null", with(R"(,"collectors":null,"learners":null)")},
           {"there is a byte order mark", "\xEF\xBB\xBF" + with("")},
       }) {
    INFO(when);
    CHECK(serving.send("POST", kPath, body).status == 200);
  }
  CHECK(serving.world.requests_now().is_null());
}

TEST_CASE("hostile bodies leave no memory behind", "[server][hostile]") {
  Serving serving;
  const std::vector<std::string> large = {
      with(R"(,"x":)" + repeated("[", 500) + repeated("1,", 100'000)),
      with(R"(,"x":[)" + repeated("{},", 200'000) + "1]"),
      R"({"namespace":")" + repeated("a", 1'000'000) + "\"}", repeated("[", 1'000'000)};
  const auto round = [&] {
    for (const auto& body : large) serving.send("POST", kPath, body);
  };
  for (int i = 0; i < 3; ++i) round();
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 20; ++i) round();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kMost = 600 << 20;  // the sanitizer keeps what was freed, and shadows it
#else
  constexpr std::size_t kMost = 8 << 20;
#endif
  CHECK(resident_bytes() < before + kMost);
}

}  // namespace nervex::server
