#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <random>

#include "extender/observe/parts/node_table.h"
#include "tests/support/gang_builders.h"

namespace nervex::extender {
namespace {

// cluster() is kept from call to call, and view() is computed.
TEST_CASE("the cluster that is kept has what each node has free", "[extender][cache][property]") {
  const auto seed = GENERATE(take(50, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const auto below = [&rng](unsigned n) { return static_cast<int>(rng() % n); };
  NodeTable table;
  placement::Cluster before;
  std::vector<kube::Resources> free_before;
  for (int step = 0; step < 300; ++step) {
    const std::string name = "n" + std::to_string(below(6));
    kube::Resources amount = testing::ask(below(3), below(4));
    if (below(3) == 0) amount.set(kube::host_port("TCP", 80 + below(2)), 1);
    kube::Node node = testing::a_node(name, below(2) * 8);
    switch (below(10)) {
      case 0:
        table.set_node(name, nullptr);
        break;
      case 1:
        node = testing::tainted(std::move(node));
        [[fallthrough]];
      case 2:
        if (below(2) == 0) node.allocatable.set("example.com/fpga", 1);
        [[fallthrough]];
      case 3:
        table.set_node(name, std::make_shared<const kube::Node>(node));
        break;
      case 4:
        table.use(name, amount);
        break;
      case 5:
        table.stop_using(name, amount);
        break;
      case 6:
        table.reserve(name, amount, below(2) == 0);
        break;
      case 7:
        table.release(name, amount, below(2) == 0);
        break;
      case 8:  // drops nodes that are gone
        (void)table.take_changes();
        break;
      default:
        break;
    }
    if (below(3) != 0) continue;
    // A copy stays as it was.
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(before.free(i) == free_before[i]);
    before = table.cluster();
    free_before.clear();
    std::size_t known = 0;
    for (int i = 0; i < 6; ++i) {
      const std::string node_name = "n" + std::to_string(i);
      const auto view = table.view(node_name, 0);
      const auto at = before.find(node_name);
      REQUIRE(view.has_value() == at.has_value());
      if (!view) continue;
      CHECK(*at == known++);
      CHECK(before.node(*at).taints == view->node->taints);
      CHECK(before.node(*at).allocatable == view->node->allocatable);
      for (const auto& [resource, total] : view->node->allocatable.amounts()) {
        CHECK(before.free(*at, resource) == view->free.get(resource));
      }
      for (const char* port : {"hostPort:TCP/80", "hostPort:TCP/81"}) {
        CHECK(before.free(*at, port) == view->free.get(port));
      }
      free_before.push_back(before.free(*at));
    }
    CHECK(before.size() == known);
  }
}

}  // namespace
}  // namespace nervex::extender
