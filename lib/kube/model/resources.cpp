#include "kube/model/resources.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "kube/model/anti_affinity.h"
#include "kube/model/pod_need.h"
#include "kube/model/quantity.h"

namespace nervex::kube {
namespace {

constexpr std::int64_t kMaxAmount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinAmount = std::numeric_limits<std::int64_t>::min();

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kMinAmount : kMaxAmount;
}

std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? kMinAmount : kMaxAmount;
}

template <typename Amounts>
auto find_amount(Amounts& amounts, std::string_view name) {
  return std::lower_bound(
      amounts.begin(), amounts.end(), name,
      [](const ResourceAmount& a, std::string_view wanted) { return a.name.compare(wanted) < 0; });
}

bool is_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource == "storage" ||
         resource.starts_with("hugepages-");
}

// A quantity in JSON: Kubernetes also accepts numbers. nullopt: neither text nor number.
std::optional<std::string> quantity_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

}  // namespace

Resources::Resources(std::initializer_list<ResourceAmount> amounts) {
  for (const auto& amount : amounts) set(amount.name, amount.amount);
}

std::int64_t Resources::get(std::string_view name) const {
  const auto& all = amounts();
  const auto at = find_amount(all, name);
  return at != all.end() && at->name == name ? at->amount : 0;
}

void Resources::set(std::string_view name, std::int64_t amount) {
  if (amount == get(name)) return;  // an equal block stays shared
  auto& all = amounts_.edit();
  const auto at = find_amount(all, name);
  const bool is_there = at != all.end() && at->name == name;
  if (is_there && amount != 0) {
    at->amount = amount;
  } else if (is_there) {
    all.erase(at);
  } else {
    all.insert(at, ResourceAmount{std::string(name), amount});
  }
}

Resources& Resources::operator+=(const Resources& other) {
  if (this == &other) return *this += Resources(other);
  for (const auto& [name, amount] : other.amounts()) set(name, saturating_add(get(name), amount));
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  if (this == &other) {
    amounts_.clear();
    return *this;
  }
  for (const auto& [name, amount] : other.amounts()) {
    set(name, saturating_subtract(get(name), amount));
  }
  return *this;
}

void Resources::raise_to(const Resources& other) {
  for (const auto& [name, amount] : other.amounts()) {
    if (amount > get(name)) set(name, amount);
  }
}

bool Resources::fits_in(const Resources& free) const { return first_lacking(free).empty(); }

std::string_view Resources::first_lacking(const Resources& free) const {
  // Both are sorted by name, so one walk is enough: the planner calls this very often.
  auto have = free.amounts().begin();
  const auto end = free.amounts().end();
  for (const auto& [name, amount] : amounts()) {
    if (amount <= 0) continue;
    while (have != end && have->name < name) ++have;
    const bool is_there = have != end && have->name == name;
    const std::int64_t found = is_there ? have->amount : 0;
    if (amount > found && amount > requestable(name, found)) return name;
  }
  return {};
}

std::int64_t Resources::times_in(const Resources& free, std::int64_t limit) const {
  std::int64_t times = limit;
  for (const auto& [name, amount] : amounts()) {
    if (amount <= 0) continue;
    const std::int64_t has = requestable(name, free.get(name));
    times = std::min(times, std::max<std::int64_t>(has, 0) / amount);
  }
  return times;
}

Resources without_implicit(const Resources& requests) {
  Resources real;
  for (const auto& [name, amount] : requests.amounts()) {
    if (!is_implicit(name)) real.set(name, amount);
  }
  return real;
}

Scale resource_scale(std::string_view resource) {
  return resource == "cpu" ? Scale::kMilli : Scale::kOne;
}

Result<Resources> decode_resources(const Json& resource_list) {
  Resources resources;
  if (resource_list.is_null()) return resources;
  if (!resource_list.is_object()) return Error{Code::kInvalid, "resource list is not an object"};
  for (const auto& [name, value] : resource_list.items()) {
    const auto text = quantity_text(value);
    if (!text) return Error{Code::kInvalid, fmt::format("{}: not a quantity", name)};
    const auto amount = parse_quantity(*text, resource_scale(name));
    if (!amount) return with_context(name, amount.error());
    resources.set(name, *amount);
  }
  return resources;
}

Json encode_resources(const Resources& resources) {
  Json list = Json::object();
  for (const auto& [name, amount] : resources.amounts()) {
    if (!is_implicit(name)) list[name] = format_amount(name, amount);
  }
  return list;
}

std::string format_amount(std::string_view resource, std::int64_t amount) {
  return is_bytes(resource) ? format_bytes(amount)
                            : format_quantity(amount, resource_scale(resource));
}

std::string format_need(std::string_view resource, std::int64_t amount) {
  if (!is_implicit(resource)) {
    return fmt::format("{} {}", resource, format_amount(resource, amount));
  }
  if (const std::string_view key = parse_topology_key(resource); !key.empty()) {
    return fmt::format("a {} of its own (podAntiAffinity)", key == kHostname ? "node" : key);
  }
  std::string text(resource);
  text[text.find(':')] = ' ';
  return text;
}

std::string host_port(std::string_view protocol, std::int64_t port) {
  return fmt::format("{}{}/{}", kHostPort, protocol.empty() ? "TCP" : protocol, port);
}

// ---- a pod's requests

namespace {

Resources sum_amounts(const std::vector<ResourceAmount>& amounts) {
  Resources sum;
  for (const auto& [name, amount] : amounts) sum.set(name, amount);
  return sum;
}

// The API server copies limits to absent requests when it stores a pod; a template has not been
// stored yet.
Resources effective_requests(const ContainerNeed& need) {
  Resources all = sum_amounts(need.limits);
  for (const auto& [name, amount] : need.requests) all.set(name, amount);
  return all;
}

// Init containers run one after another, each beside the sidecars started before it.
Resources total_of_containers(const PodNeed& need) {
  Resources running;
  for (const auto& container : need.containers) running += effective_requests(container);
  Resources sidecars;
  Resources starting;
  for (const auto& container : need.init_containers) {
    Resources step = effective_requests(container);
    if (container.is_sidecar) {
      running += step;
      sidecars += step;
      step = sidecars;
    } else {
      step += sidecars;
    }
    starting.raise_to(step);
  }
  running.raise_to(starting);
  return running;
}

bool may_be_pod_level(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

// Requests of the pod as a whole replace the sum; its limits replace absent requests.
void apply_pod_level(const ContainerNeed& pod_level, Resources& total) {
  for (const auto& [name, amount] : pod_level.limits) {
    if (may_be_pod_level(name) && total.get(name) == 0) total.set(name, amount);
  }
  for (const auto& [name, amount] : pod_level.requests) {
    if (may_be_pod_level(name)) total.set(name, amount);
  }
}

std::vector<ResourceAmount> readable_amounts(const Json* list) {
  std::vector<ResourceAmount> amounts;
  if (list == nullptr || !list->is_object()) return amounts;
  for (const auto& [name, value] : list->items()) {
    const auto text = quantity_text(value);
    if (!text) continue;
    const auto amount = parse_quantity(*text, resource_scale(name));
    if (amount) amounts.push_back({name, *amount});
  }
  return amounts;
}

std::vector<std::string> decode_host_ports(const Json& container, bool host_network) {
  std::vector<std::string> ports;
  for (const Json& port : array_at(container, {"ports"})) {
    std::int64_t number = int_at(port, {"hostPort"});
    if (number == 0 && host_network) number = int_at(port, {"containerPort"});
    if (number != 0) ports.push_back(host_port(string_at(port, {"protocol"}), number));
  }
  return ports;
}

// `holder` is a container or a pod spec: both have `resources`.
ContainerNeed decode_container_need(const Json& holder, bool host_network) {
  return {.requests = readable_amounts(find(holder, {"resources", "requests"})),
          .limits = readable_amounts(find(holder, {"resources", "limits"})),
          .host_ports = decode_host_ports(holder, host_network),
          .is_sidecar = string_at(holder, {"restartPolicy"}) == "Always"};
}

// As in kube-scheduler 1.36: ports of containers that run for the pod's whole life.
void take_ports(const PodNeed& need, Resources& total) {
  // Sorted, as their order by number would move most of 50,000 names for each one.
  std::vector<std::string_view> ports;
  const auto take = [&](const ContainerNeed& container) {
    ports.insert(ports.end(), container.host_ports.begin(), container.host_ports.end());
  };
  for (const auto& container : need.containers) take(container);
  for (const auto& container : need.init_containers) {
    if (container.is_sidecar) take(container);
  }
  std::sort(ports.begin(), ports.end());
  for (const std::string_view port : ports) total.set(port, 1);
}

}  // namespace

Resources total_requests(const PodNeed& need) {
  Resources total = total_of_containers(need);
  apply_pod_level(need.pod_level, total);
  total += sum_amounts(need.overhead);
  total.set("pods", 1);
  take_ports(need, total);
  return total;
}

Resources pod_requests(const Json& pod_spec) {
  PodNeed need;
  const bool host_network = bool_at(pod_spec, {"hostNetwork"});
  for (const auto& c : array_at(pod_spec, {"containers"})) {
    need.containers.push_back(decode_container_need(c, host_network));
  }
  for (const auto& c : array_at(pod_spec, {"initContainers"})) {
    need.init_containers.push_back(decode_container_need(c, host_network));
  }
  need.pod_level = decode_container_need(pod_spec, false);
  need.overhead = readable_amounts(find(pod_spec, {"overhead"}));
  return total_requests(need);
}

}  // namespace nervex::kube
