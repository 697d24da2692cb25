#include "gang/explain.h"

#include <fmt/format.h>

#include <tuple>

#include "kube/model/resources.h"

namespace nervex::gang {
namespace {

std::string amount(const NoFit& no_fit) {
  return fmt::format("{} {}", no_fit.resource, kube::format_amount(no_fit.resource, no_fit.each));
}

// ", 3 are tainted"; nothing for none.
std::string nodes_that(int count, std::string_view what, std::string_view more = "") {
  if (count == 0) return "";
  return fmt::format(", {}{} {} {}", count, more, count == 1 ? "is" : "are", what);
}

std::string not_allowed(const NoFit& no_fit) {
  return nodes_that(no_fit.nodes_tainted, "tainted") +
         nodes_that(no_fit.nodes_not_selected, "not selected") +
         nodes_that(no_fit.nodes_not_ready, "not ready");
}

std::string who(const NoFit& no_fit, std::string_view verb) {
  if (no_fit.wanted == 1)
    return fmt::format("{}: {}: it needs {}", no_fit.role, verb, amount(no_fit));
  return fmt::format("{}: {} of {} {}: each needs {}", no_fit.role, no_fit.unplaced, no_fit.wanted,
                     verb, amount(no_fit));
}

std::string explain_nowhere(const NoFit& no_fit) {
  const std::string why = not_allowed(no_fit);
  if (why.empty()) return fmt::format("{}: the cluster has no nodes", no_fit.role);
  return fmt::format("{}: no node is allowed: {}", no_fit.role, why.substr(2));
}

std::string explain_never(const NoFit& no_fit) {
  const std::string start = who(no_fit, "can never fit");
  const std::string others = not_allowed(no_fit);
  if (no_fit.most > 0) {
    return fmt::format("{}; the nodes have capacity for {} even when empty{}", start, no_fit.most,
                       others);
  }
  const std::string largest = kube::format_amount(no_fit.resource, no_fit.largest_node);
  if (no_fit.largest_node < no_fit.each) {
    return fmt::format("{}; the largest node has {} even when empty{}", start, largest, others);
  }
  return fmt::format("{} beside its other requests; no node has both even when empty{}", start,
                     others);
}

std::string explain_wait(const NoFit& no_fit) {
  const int free = no_fit.nodes_free;
  const std::string now = free == 0   ? "no node has it free"
                          : free == 1 ? "1 node has it free"
                                      : fmt::format("{} nodes have it free", free);
  const std::string full = nodes_that(no_fit.nodes_full, "full", free > 0 ? " more" : "");
  return who(no_fit, no_fit.wanted == 1 || no_fit.unplaced == 1 ? "does not fit" : "do not fit") +
         "; " + now + full + nodes_that(no_fit.nodes_too_small, "too small") + not_allowed(no_fit);
}

}  // namespace

std::string explain(const NoFit& no_fit) {
  if (no_fit.resource.empty()) return explain_nowhere(no_fit);
  return no_fit.never ? explain_never(no_fit) : explain_wait(no_fit);
}

bool same_cause(const NoFit& a, const NoFit& b) {
  // Whether any node is barred, not how many: that is what an administrator has changed and looks
  // for. Free and full nodes come and go with every pod.
  const auto kind = [](const NoFit& x) {
    return std::tuple(std::string_view(x.role), std::string_view(x.resource), x.never,
                      x.never && x.most == 0, x.nodes_tainted > 0, x.nodes_not_selected > 0,
                      x.nodes_not_ready > 0);
  };
  return kind(a) == kind(b);
}

}  // namespace nervex::gang
