// planner/foreign/refused_plain_pods.h - does this plain pod not fit because one like it did
// not? Pure.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "gang/no_fit.h"
#include "gang/pod_group.h"
#include "placement/capacity.h"
#include "planner/foreign/foreign_plan.h"

namespace nervex::planner {

// Lives within one pass: capacity only becomes less in it, so pods that are alike need not be
// tried. There may be thousands of them. Cost of a call: kMost comparisons.
class RefusedPlainPods {
 public:
  // If a pod like this one was refused, with the same limits of node classes: refuses it, too.
  bool refuse(ForeignWork& pod, const std::vector<placement::GroupLimit>& limits) const;
  // The pod did not fit. No effect if that is its own fault, or it is no plain pod.
  void note(const ForeignWork& pod, const std::vector<placement::GroupLimit>& limits);

 private:
  static constexpr std::size_t kMost = 64;
  struct Refused {
    gang::PodShape shape;
    std::vector<placement::GroupLimit> limits;
    gang::NoFit no_fit;
  };
  std::multimap<int, Refused> refused_;  // by priority
};

}  // namespace nervex::planner
