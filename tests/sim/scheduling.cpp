#include "tests/sim/scheduling.h"

#include "base/log.h"
#include "tests/extender/extender_process.h"

namespace nervex::testing {

using kube::string_at;

Scheduling::Scheduling(FakeApi& api, const Clock& clock) : door(api), api_(api), clock_(clock) {
  set_log_level(LogLevel::kError);
  restart();
}

Scheduling::~Scheduling() = default;

void Scheduling::restart() {
  extender_ = std::make_unique<ExtenderProcess>(door, api_, clock_);
  extender_->list(api_.resource_version());
  ++restarts_;
}

void Scheduling::in_extender(const std::function<void()>& work) {
  try {
    work();
  } catch (const Killed&) {
    restart();
  }
}

void Scheduling::kill_scheduler() { extender_->held.lose_callers(); }

void Scheduling::see() { extender_->deliver(api_.resource_version()); }

void Scheduling::plan() {
  in_extender([this] { extender_->planner.schedule_once(); });
}

// As its cache shows the pods, which is the extender's here.
std::string Scheduling::node_for(const kube::Pod& pod,
                                 const kube::NodeConstraints& constraints) const {
  for (const auto& node : extender_->nodes.all()) {
    if (kube::judge(*node, constraints) != kube::NodeFit::kAllowed) continue;
    kube::Resources free = node->allocatable;
    for (const auto& other : extender_->pods.all()) {
      const bool is_there = other->occupies()
                                ? other->node.str() == node->name
                                : extender_->held.node_of(other->meta.uid) == node->name;
      if (is_there) free -= other->requests;
    }
    if (pod.requests.fits_in(free)) return node->name;
  }
  return "";
}

void Scheduling::try_pod(const kube::Pod& pod, const kube::NodeConstraints& constraints) {
  const std::string node = node_for(pod, constraints);
  if (node.empty()) return refuse(pod);
  const kube::FilterArgs args{pod, {node}};
  const auto filtered = extender::filter(args, extender::filter_view(extender_->plans, args));
  if (filtered.node_names.empty()) {
    if (filtered.error.empty()) refuse(pod);
    return;
  }
  in_extender([&] { extender_->held.begin({pod.meta.name, pod.meta.ns, pod.meta.uid, node}); });
}

void Scheduling::refuse(const kube::Pod& pod) {
  if (!pod.unscheduled_reason.empty()) return;
  Json conditions = Json::array();
  const Json live = api_.get(kube::kPods, pod.meta.ns.str(), pod.meta.name);
  if (!live.is_object()) return;
  for (const Json& condition : kube::array_at(live, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) != "PodScheduled") conditions.push_back(condition);
  }
  conditions.push_back({{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", "Unschedulable"},
                        {"message", "no node is available"},
                        {"lastTransitionTime", to_rfc3339(clock_.now())}});
  api_.change(kube::kPods, pod.meta.ns.str(), pod.meta.name,
              {{"status", {{"conditions", conditions}}}});
}

int Scheduling::schedule() {
  struct Waiting {
    kube::Pod pod;
    kube::NodeConstraints constraints;
  };
  std::vector<Waiting> waiting;
  api_.each(kube::kPods, [&](const Json& object) {
    const bool waits = string_at(object, {"spec", "nodeName"}).empty() &&
                       string_at(object, {"spec", "schedulerName"}) == gang::kSchedulerName &&
                       kube::find(object, {"metadata", "deletionTimestamp"}) == nullptr;
    if (!waits) return;
    waiting.push_back({*kube::decode_pod(kube::to_text(object), extender::pod_filter()),
                       kube::constraints_of(object.at("spec"))});
  });
  int bound = 0;
  const auto finish_held = [&] {
    in_extender([&] {
      for (const auto& ended : extender_->held.finish()) bound += ended.result ? 1 : 0;
    });
  };
  for (const auto& [pod, constraints] : waiting) {
    if (extender_->held.node_of(pod.meta.uid).empty()) try_pod(pod, constraints);
    finish_held();
    see();
  }
  extender_->held.notice_callers();
  finish_held();  // the one that is bound last waited for what was just seen
  return bound;
}

}  // namespace nervex::testing
