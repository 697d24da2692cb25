#include "planner/foreign/foreign_wait.h"

#include <fmt/format.h>

#include "kube/model/resources.h"
#include "placement/explain.h"

namespace nervex::planner {
namespace {

std::string explain_cause(const gang::NoFit& no_fit) { return placement::explain(no_fit); }

std::string explain_cause(const TooFewPods& few) {
  return fmt::format("{} of its {} pods exist", few.exist, few.min_member);
}

std::string explain_cause(const StartPaused& paused) {
  return fmt::format("its start has failed {} times; planned again after {}", paused.failures,
                     to_rfc3339(paused.until));
}

std::string explain_cause(const MinResourcesNotFree& lacking) {
  return fmt::format("minResources asks for {} {} and {} are free", lacking.resource,
                     kube::format_amount(lacking.resource, lacking.asked),
                     kube::format_amount(lacking.resource, lacking.free));
}

}  // namespace

std::string explain(const ForeignWait& wait) {
  const std::string text =
      std::visit([](const auto& cause) { return explain_cause(cause); }, wait.cause);
  return wait.refusal.empty() ? text : text + "; " + wait.refusal;
}

bool same_cause(const ForeignWait& a, const ForeignWait& b) {
  const auto* first = std::get_if<gang::NoFit>(&a.cause);
  const auto* second = std::get_if<gang::NoFit>(&b.cause);
  if (first != nullptr && second != nullptr) return gang::same_cause(*first, *second);
  const auto* asked = std::get_if<MinResourcesNotFree>(&a.cause);
  const auto* asked_too = std::get_if<MinResourcesNotFree>(&b.cause);
  return asked != nullptr && asked_too != nullptr && asked->resource == asked_too->resource;
}

}  // namespace nervex::planner
