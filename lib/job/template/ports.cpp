// Ports of containers and of the node.
#include <fmt/format.h>

#include "job/ports.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

using Seen = std::set<std::string, std::less<>>;

void check_number(const Place& port) { port.in_range(1, 65'535); }

// "TCP/10.0.0.1/80": unique on a node.
std::string host_port_key(const Json& port, std::int64_t number) {
  const std::string protocol = kube::string_at(port, {"protocol"});
  return fmt::format("{}/{}/{}", protocol.empty() ? "TCP" : protocol,
                     kube::string_at(port, {"hostIP"}), number);
}

// With hostNetwork, a port without hostPort gets its own number there.
std::int64_t number_on_host(const Json& port, bool host_network) {
  const auto number = kube::int_at(port, {"hostPort"});
  return number == 0 && host_network ? kube::int_at(port, {"containerPort"}) : number;
}

void check_unique_host_ports(const Place& container, bool host_network, Seen& seen) {
  const Place ports = container.at("ports");
  ports.each_item([&](const Place& port) {
    const Place host_port = port.at("hostPort");
    const auto number = number_on_host(port.value(), host_network);
    if (number == 0) return;
    const std::string key = host_port_key(port.value(), number);
    if (!seen.insert(key).second) host_port.duplicate(key);
  });
}

// The controller's own port is a host port only with hostNetwork. The error is reported at the port
// that the author can change.
void check_added_port(const Place& containers, const Facts& facts) {
  if (!facts.host_network || facts.added_port == 0) return;
  const std::string added = fmt::format("TCP//{}", facts.added_port);
  int index = 0;
  containers.each_item([&](const Place& container) {
    const bool is_main = index++ == facts.main_container;
    const Place ports = container.at("ports");
    ports.each_item([&](const Place& port) {
      if (host_port_key(port.value(), number_on_host(port.value(), true)) != added) return;
      port.at("containerPort")
          .duplicate(added, is_main ? fmt::format("the controller adds the port {} with this "
                                                  "number: give this one that name",
                                                  kMainPort)
                                    : fmt::format("the controller adds the port {} with this "
                                                  "number to containers[{}]: choose another, or "
                                                  "declare {} there with another",
                                                  kMainPort, facts.main_container, kMainPort));
    });
  });
}

}  // namespace

void check_ports(const Place& container, const Facts& facts) {
  const Place ports = container.at("ports");
  Seen names;
  ports.each_item([&](const Place& port) {
    if (!port.is_object()) return;
    const Place name = port.at("name");
    if (!name.text().empty()) {
      const std::string why = port_name_problem(name.text());
      if (!why.empty()) {
        name.invalid(why);
      } else if (!names.insert(name.text()).second) {
        name.duplicate();
      }
    }
    const Place number = port.at("containerPort");
    if (!number.is_there() || number.value() == Json(0)) {
      number.required();
    } else {
      check_number(number);
    }
    const Place host_port = port.at("hostPort");
    const auto on_host = host_port.integer().value_or(0);
    if (on_host != 0) {
      check_number(host_port);
      if (facts.host_network && number.integer() && on_host != *number.integer()) {
        host_port.invalid("must match `containerPort` when `hostNetwork` is true");
      }
    }
    const Place protocol = port.at("protocol");
    protocol.one_of({"SCTP", "TCP", "UDP"});
  });
}

void check_host_ports(const Place& spec, const Facts& facts) {
  const Place containers = spec.at("containers");
  Seen seen;
  containers.each_item(
      [&](const Place& one) { check_unique_host_ports(one, facts.host_network, seen); });
  check_added_port(containers, facts);
  // Init containers run one after another, so each is checked alone.
  const Place init_containers = spec.at("initContainers");
  init_containers.each_item([&](const Place& one) {
    Seen own;
    check_unique_host_ports(one, facts.host_network, own);
  });
}

}  // namespace nervex::job::pod_template
