#include "cli/logs/pod_choice.h"

#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "gang/slot.h"
#include "job/counts.h"

namespace nervex::cli {
namespace {

bool is_unique(job::Role role) { return role == job::Role::kCoordinator; }

}  // namespace

Result<PodChoice> parse_pod_choice(const std::string& text) {
  if (text.empty()) return PodChoice{job::Role::kCoordinator, std::nullopt};
  const auto slash = text.find('/');
  const auto role = job::parse_role(text.substr(0, slash));
  if (!role) {
    return Error{Code::kInvalid,
                 fmt::format("no role {}: coordinator, aggregator, collector, learner or "
                             "ddp-learner, maybe with an ordinal (learner/0)",
                             text.substr(0, slash))};
  }
  if (slash == std::string::npos) return PodChoice{role, std::nullopt};
  const std::string number = text.substr(slash + 1);
  int ordinal = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (!is_digits(number) || error != std::errc()) {
    return Error{Code::kInvalid, fmt::format("{}: an ordinal is a number, as in learner/0", text)};
  }
  return PodChoice{role, ordinal};
}

bool is_chosen(const PodChoice& choice, const kube::Pod& pod) {
  const auto role = job::pod_role(pod);
  if (!role || (choice.role && *choice.role != *role)) return false;
  if (!choice.ordinal) return true;
  const auto slot = gang::pod_slot(pod);
  return slot && slot->slot.ordinal == *choice.ordinal;
}

bool is_single(const PodChoice& choice) {
  return choice.role && (choice.ordinal || is_unique(*choice.role));
}

std::string pod_title(const kube::Pod& pod) {
  const auto role = job::pod_role(pod);
  if (role && is_unique(*role)) return std::string(to_string(*role));
  const auto slot = gang::pod_slot(pod);
  return slot ? gang::slot_key(slot->role, slot->slot.ordinal) : pod.meta.name;
}

kube::PodFilter chosen_pod_filter() { return gang::with_slot_annotations(job::pod_filter()); }

}  // namespace nervex::cli
