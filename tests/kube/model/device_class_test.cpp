#include "kube/model/device_class.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::kube {
namespace {

std::shared_ptr<const DeviceClass> device_class(const std::string& json) {
  auto decoded = decode_device_class(json);
  REQUIRE(decoded);
  return std::make_shared<const DeviceClass>(*std::move(decoded));
}

TEST_CASE("a DeviceClass is decoded with the extended resource that it states", "[kube][dra]") {
  const auto gpu = device_class(
      R"({"metadata":{"name":"gpu","uid":"u","resourceVersion":"7","labels":{"a":"b"}},
          "spec":{"selectors":[{"cel":{"expression":"true"}}],
                  "extendedResourceName":"example.com/gpu"}})");
  CHECK(gpu->meta.name == "gpu");
  CHECK(gpu->meta.uid == "u");
  CHECK(gpu->meta.resource_version == "7");
  CHECK(gpu->meta.labels.empty());
  CHECK(gpu->extended_resource == "example.com/gpu");
  CHECK(device_class(R"({"metadata":{"name":"gpu"},"spec":{}})")->extended_resource.empty());
  CHECK(device_class(R"({"metadata":{"name":"gpu"},"spec":{"extendedResourceName":null}})")
            ->extended_resource.empty());
  CHECK_FALSE(decode_device_class(R"({"spec":{"extendedResourceName":"example.com/gpu"}})"));
  CHECK_FALSE(decode_device_class("no JSON"));
}

TEST_CASE("a DeviceClass backs the resource that it states and the one named after it",
          "[kube][dra]") {
  const auto plain = device_class(R"({"metadata":{"name":"nic"},"spec":{}})");
  const auto old = device_class(
      R"({"metadata":{"name":"old"},"spec":{"extendedResourceName":"example.com/gpu"}})");
  const auto gpu = device_class(
      R"({"metadata":{"name":"gpu"},"spec":{"extendedResourceName":"example.com/gpu"}})");
  using Names = std::vector<std::string>;
  CHECK(backed_resources({}) == Names{});
  CHECK(backed_resources({plain}) == Names{"deviceclass.resource.kubernetes.io/nic"});
  CHECK(backed_resources({old, plain, gpu}) ==
        Names{"deviceclass.resource.kubernetes.io/gpu", "deviceclass.resource.kubernetes.io/nic",
              "deviceclass.resource.kubernetes.io/old", "example.com/gpu"});
}

TEST_CASE("a node has as much as is asked of a backed resource, unless it lists it",
          "[kube][dra]") {
  const Resources node{{"cpu", 8000}, {"example.com/gpu", 2}};
  const auto all = with_delegated(node, {"example.com/fpga", "example.com/gpu"});
  CHECK(all.get("cpu") == 8000);
  CHECK(all.get("example.com/gpu") == 2);
  CHECK(is_delegated(all.get("example.com/fpga")));
  CHECK_FALSE(is_delegated(all.get("example.com/gpu")));
  CHECK_FALSE(is_delegated(std::int64_t{1} << 48));  // 256 TiB of memory are counted
  CHECK(with_delegated(node, {}) == node);
}

}  // namespace
}  // namespace nervex::kube
