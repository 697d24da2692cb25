// cli/logs/pod_choice.h - which pods of a job does a user mean? Pure.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::cli {

struct PodChoice {
  std::optional<job::Role> role;  // nullopt: every role
  std::optional<int> ordinal;     // nullopt: every one
  bool operator==(const PodChoice&) const = default;
};

// "learner", "learner/0"; "" is the coordinator. kInvalid: no such role, or not a number.
Result<PodChoice> parse_pod_choice(const std::string& text);

bool is_chosen(const PodChoice& choice, const kube::Pod& pod);

// At most one pod at a time.
bool is_single(const PodChoice& choice);

// "learner/0", "coordinator": how lines of its log are marked.
std::string pod_title(const kube::Pod& pod);

// What these functions need of pods.
kube::PodFilter chosen_pod_filter();

}  // namespace nervex::cli
