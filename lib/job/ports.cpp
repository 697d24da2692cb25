#include "job/ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "job/names.h"

namespace nervex::job {
namespace {

void add(std::vector<Port>& ports, std::string name, int number) {
  const bool is_taken = std::any_of(ports.begin(), ports.end(),
                                    [&](const Port& port) { return port.number == number; });
  if (!is_taken) ports.push_back({std::move(name), number});
}

bool is_among(const std::vector<Port>& ports, const std::string& name) {
  return std::any_of(ports.begin(), ports.end(),
                     [&](const Port& port) { return port.name == name; });
}

}  // namespace

std::vector<Port> make_ports(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                             const PodContext& context) {
  const int main = main_port(role_template(job, role, context), role);
  std::vector<Port> ports = {{std::string(kMainPort), main}};
  if (role != Role::kDdpLearner || entry == nullptr) return ports;
  const auto place = place_of_ddp_learner(*entry, slot);
  if (!place || main < 1) return ports;
  const int end = std::min(place->start_rank + place->gpus, kMaxPort + 1 - main);
  for (int rank = std::max(place->start_rank, 1); rank < end; ++rank) {
    add(ports, fmt::format("gpu-port-{}", rank), main + rank);
  }
  add(ports, std::string(kMasterPortName), kMasterPort);
  return ports;
}

std::vector<int> make_gpu_ports(int main_port, const DdpPlace& place) {
  std::vector<int> ports(static_cast<std::size_t>(place.gpus));
  std::iota(ports.begin(), ports.end(), main_port + place.start_rank);
  return ports;
}

Result<Nothing> check_gpu_ports(int main_port, const std::vector<int>& gpu_split) {
  const int last = std::accumulate(gpu_split.begin(), gpu_split.end(), 0) - 1;
  if (main_port + last > kMaxPort) {
    return Error{Code::kInvalid, fmt::format("the port of GPU {} would be {}, above {}: each GPU "
                                             "has a port, counted from the template's {}",
                                             last, main_port + last, kMaxPort, main_port)};
  }
  const int master_rank = kMasterPort - main_port;
  if (!gpu_split.empty() && master_rank >= 0 && master_rank < gpu_split.front()) {
    return Error{Code::kInvalid,
                 fmt::format("the port of GPU {} would be {}, which is MASTER_PORT: each GPU has a "
                             "port, counted from the template's {}",
                             master_rank, kMasterPort, main_port)};
  }
  return ok();
}

int added_main_port(const Json& pod_spec, Role role) {
  const int main = main_container(pod_spec);
  if (main < 0) return 0;
  const Json& container = kube::array_at(pod_spec, {"containers"})[static_cast<std::size_t>(main)];
  for (const auto& port : kube::array_at(container, {"ports"})) {
    const bool is_main = kube::string_at(port, {"name"}) == kMainPort;
    if (is_main && kube::int_at(port, {"containerPort"}) != 0) return 0;
  }
  return default_port(role);
}

void declare_ports(Json& container, const std::vector<Port>& ports) {
  Json all = Json::array();
  bool has_main = false;
  for (const auto& port : kube::array_at(container, {"ports"})) {
    const std::string name = kube::string_at(port, {"name"});
    const bool is_main = name == kMainPort && kube::int_at(port, {"containerPort"}) != 0;
    if (is_main || !is_among(ports, name)) all.push_back(port);
    has_main = has_main || is_main;
  }
  for (const auto& port : ports) {
    if (port.name == kMainPort && has_main) continue;
    all.push_back({{"name", port.name}, {"containerPort", port.number}, {"protocol", "TCP"}});
  }
  container["ports"] = std::move(all);
}

}  // namespace nervex::job
