// view/pod_problem.h - why does a pod not run? Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kube/model/pod.h"

namespace nervex::view {

struct PodProblem {
  enum class Code {
    kContainerFailed,   // a container ended with a non-zero exit code
    kContainerWaiting,  // a container cannot start: reason is the kubelet's, such as ErrImagePull
    kPodFailed,         // reason and message are the pod's own, such as Evicted
    kNodeLost,          // the pod is deleted and replaced; message says what is wrong with its node
    kNodeUnavailable,   // the node is not Ready or unreachable, and the pod's template tolerates it
    kUnschedulable,     // message is kube-scheduler's
  };
  Code code = Code::kPodFailed;
  std::string pod;
  std::string reason = {};
  std::string message = {};
  int exit_code = 0;      // kContainerFailed
  int restarts = 0;       // kContainerFailed, kContainerWaiting
  std::string node = {};  // kNodeLost, kNodeUnavailable
  // kNodeUnavailable. seconds::max(): tolerated without a limit.
  std::chrono::seconds tolerated{};
  bool is_unreachable = false;  // kNodeUnavailable; false: not Ready
  bool operator==(const PodProblem&) const = default;
};
std::string_view to_string(PodProblem::Code code);

// nullopt: no known problem.
std::optional<PodProblem> find_problem(const kube::Pod& pod);

// "OOMKilled, exit code 137: killed by the kernel"; without the pod's name.
std::string describe(const PodProblem& problem);

}  // namespace nervex::view
