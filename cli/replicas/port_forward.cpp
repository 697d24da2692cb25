#include "cli/replicas/port_forward.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"

namespace nervex::cli {
namespace {

constexpr const char* kServerService = "service/nervex-server";
constexpr const char* kServerPort = ":8080";  // any local port
constexpr std::chrono::seconds kReady{15};

ProcessOptions forward_command(const ClusterFlags& flags, const std::string& suite_ns) {
  ProcessOptions options;
  options.argv = {"kubectl",      "port-forward", "-n",        suite_ns,
                  kServerService, kServerPort,    "--address", "127.0.0.1"};
  const auto add = [&](const char* flag, const std::string& value) {
    if (value.empty()) return;
    options.argv.emplace_back(flag);
    options.argv.push_back(value);
  };
  add("--kubeconfig", flags.kubeconfig);
  add("--context", flags.context);
  return options;
}

}  // namespace

Result<PortForward> PortForward::start(const ClusterFlags& flags, const std::string& suite_ns) {
  auto process = BackgroundProcess::start(forward_command(flags, suite_ns));
  if (!process) return with_context("kubectl port-forward", process.error());
  const auto line = process->read_line(SystemClock().mono() + kReady);
  if (!line) return with_context("kubectl port-forward", line.error());
  const auto port = parse_forwarded_port(*line);
  if (!port) return Error{Code::kTransient, fmt::format("kubectl port-forward said: {}", *line)};
  return PortForward(*std::move(process), *port);
}

std::optional<int> parse_forwarded_port(std::string_view line) {
  constexpr std::string_view kBefore = "Forwarding from 127.0.0.1:";
  if (!line.starts_with(kBefore)) return std::nullopt;
  line.remove_prefix(kBefore.size());
  int port = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), port);
  return error == std::errc() && end != line.data() ? std::optional(port) : std::nullopt;
}

}  // namespace nervex::cli
