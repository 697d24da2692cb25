#include <unordered_map>

#include <catch2/catch_test_macros.hpp>

#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {
namespace {

TEST_CASE("copies share until one of them changes", "[kube][shared]") {
  Shared<std::string> a(std::string("x"));
  Shared<std::string> b = a;
  CHECK(&*a == &*b);
  CHECK_FALSE(a.is_only());
  b.edit() = "y";
  CHECK(*a == "x");
  CHECK(*b == "y");
  CHECK(a.is_only());
  const auto* before = &*b;
  b.edit() = "z";
  CHECK(&*b == before);  // no other owner
  a = b;
  CHECK(a == b);
  a.reset();
  CHECK_FALSE(a);
  CHECK_FALSE(a == b);
  a.edit() = "z";
  CHECK(a == b);
}

TEST_CASE("a shared text reads as any other", "[kube][shared]") {
  const SharedString text = "node-1";
  const std::string& plain = text;
  CHECK(plain == "node-1");
  CHECK(text == "node-1");
  CHECK("node-1" == text);
  CHECK(text == plain);
  CHECK(text == SharedString(plain));
  CHECK(text != "node-2");
  CHECK(text < std::string("node-2"));
  CHECK(text + "/x" == "node-1/x");
  CHECK("x/" + text == "x/node-1");
  CHECK(fmt::format("{}|{:>8}", text, text) == "node-1|  node-1");
  CHECK(Json{{"node", text}} == Json{{"node", "node-1"}});
  const std::unordered_map<std::string, int> by_name{{"node-1", 1}};
  CHECK(by_name.count(text) == 1);
  CHECK(SharedString().empty());
  CHECK(SharedString("") == SharedString());
  CHECK(SharedString().str().empty());
}

TEST_CASE("a string map is sorted and keeps the first of a key", "[kube][shared]") {
  StringMap map{{"b", "2"}, {"a", "1"}, {"b", "3"}};
  CHECK(map.size() == 2);
  CHECK(map.begin()->first == "a");
  CHECK(map.find("b")->second == "2");
  CHECK(map.find("c") == map.end());
  const StringMap copy = map;
  map["b"] = "4";
  map["c"] = "5";
  CHECK(copy.find("b")->second == "2");
  CHECK(map == StringMap{{"a", "1"}, {"b", "4"}, {"c", "5"}});
  CHECK(map.contains("c"));
  map.clear();
  CHECK(map == StringMap());
}

TEST_CASE("a shared vector of nothing equals one that was never filled", "[kube][shared]") {
  SharedVector<int> items;
  items.edit();
  CHECK(items == SharedVector<int>());
  items.push_back(1);
  const SharedVector<int> copy = items;
  items.push_back(2);
  CHECK(copy == SharedVector<int>{1});
  CHECK(items.items() == std::vector<int>{1, 2});
}

}  // namespace
}  // namespace nervex::kube
