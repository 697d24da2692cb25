// Probes and hooks of containers.
#include <array>

#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

void check_port(const Place& port) {
  if (!port.is_there()) {
    port.required();
  } else if (port.value().is_string()) {
    port.must_be(port_name_problem(port.text()));
  } else {
    port.in_range(1, 65'535);
  }
}

void check_exec(const Place& exec, const Facts&) {
  const Place command = exec.at("command");
  if (command.size() == 0 && (command.value().is_array() || !command.is_there())) {
    command.required();
  }
}

void check_http(const Place& http, const Facts&) {
  const Place port = http.at("port");
  check_port(port);
  const Place scheme = http.at("scheme");
  scheme.one_of({"HTTP", "HTTPS"});
  const Place headers = http.at("httpHeaders");
  headers.each_item([&](const Place& header) {
    const Place name = header.at("name");
    const std::string why = header_name_problem(name.text());
    // The API server reports the list's path, without an index.
    if (name.value().is_string() && !why.empty()) headers.invalid(name.text(), why);
  });
}

void check_socket(const Place& socket, const Facts&) {
  const Place port = socket.at("port");
  check_port(port);
}

void check_sleep(const Place& sleep, const Facts& facts) {
  const Place seconds = sleep.at("seconds");
  const auto number = seconds.integer();
  if (!number || (*number >= 0 && *number <= facts.grace_seconds)) return;
  sleep.invalid(seconds.value(),
                fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})",
                            facts.grace_seconds));
}

struct Handler {
  std::string_view field;
  void (*check)(const Place& handler, const Facts& facts);
};
constexpr std::array kProbeHandlers{Handler{"exec", check_exec}, Handler{"httpGet", check_http},
                                    Handler{"tcpSocket", check_socket},
                                    Handler{"grpc", check_socket}};
constexpr std::array kHookHandlers{Handler{"exec", check_exec}, Handler{"httpGet", check_http},
                                   Handler{"tcpSocket", check_socket},
                                   Handler{"sleep", check_sleep}};

// Exactly one handler.
template <typename Handlers>
void check_handlers(const Place& holder, const Handlers& handlers, const Facts& facts) {
  int found = 0;
  for (const auto& handler : handlers) {
    const Place place = holder.at(handler.field);
    if (!place.is_there()) continue;
    if (++found > 1) {
      place.forbidden("may not specify more than 1 handler type");
    } else if (place.is_object()) {
      handler.check(place, facts);
    }
  }
  if (found == 0) holder.required("must specify a handler type");
}

enum class Probe { kLiveness, kReadiness, kStartup };

void check_probe(const Place& probe, Probe kind, const Facts& facts) {
  if (!probe.is_object()) return;
  check_handlers(probe, kProbeHandlers, facts);
  for (const auto field :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"}) {
    const Place number = probe.at(field);
    number.not_negative();
  }
  const Place successes = probe.at("successThreshold");
  const auto wanted = successes.integer().value_or(1);
  if (kind == Probe::kReadiness) {
    successes.not_negative();
  } else if (wanted != 1 && wanted != 0) {  // 0 defaults to 1
    successes.invalid("must be 1");
  }
  const Place grace = probe.at("terminationGracePeriodSeconds");
  if (!grace.is_there()) return;
  if (kind == Probe::kReadiness) {
    grace.invalid("must not be set for readinessProbes");
  } else if (grace.integer() && *grace.integer() <= 0) {
    grace.invalid("must be greater than 0");
  }
}

void check_hooks(const Place& lifecycle, const Facts& facts) {
  for (const auto hook : {"postStart", "preStop"}) {
    const Place place = lifecycle.at(hook);
    if (place.is_object()) check_handlers(place, kHookHandlers, facts);
  }
}

}  // namespace

void check_probes(const Place& container, const Facts& facts) {
  const Place lifecycle = container.at("lifecycle");
  if (lifecycle.is_object()) check_hooks(lifecycle, facts);
  const Place liveness = container.at("livenessProbe");
  check_probe(liveness, Probe::kLiveness, facts);
  const Place readiness = container.at("readinessProbe");
  check_probe(readiness, Probe::kReadiness, facts);
  const Place startup = container.at("startupProbe");
  check_probe(startup, Probe::kStartup, facts);
}

void check_init_probes(const Place& container, const Facts& facts) {
  if (kube::string_at(container.value(), {"restartPolicy"}) == "Always") {
    return check_probes(container, facts);
  }
  for (const auto field : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    const Place place = container.at(field);
    if (place.is_there()) {
      place.forbidden("may not be set for init containers without restartPolicy=Always");
    }
  }
}

}  // namespace nervex::job::pod_template
