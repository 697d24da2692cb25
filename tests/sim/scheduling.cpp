#include "tests/sim/scheduling.h"

#include <map>
#include <utility>

#include "base/log.h"
#include "extender/bind.h"
#include "extender/filter.h"
#include "extender/planner.h"
#include "extender/plans.h"
#include "extender/routes.h"
#include "extender/watches.h"
#include "job/names.h"
#include "tests/sim/feed.h"

namespace nervex::testing {

using kube::string_at;

// The parts that die with the process.
struct Scheduling::Extender {
  Extender(FakeApi& api, const Clock& clock)
      : planner(api, plans, clock), holds(plans, clock), binder(api, plans, holds, pods, clock) {
    const auto add = [&](const kube::ResourceKind& kind, kube::ReflectorSink sink) {
      feeds.push_back(std::make_unique<Feed>(api, kube::api_path(kind), std::move(sink)));
    };
    add(kube::kNodes, extender::node_sink(nodes, plans, planner));
    add(kube::kPods, extender::pod_sink(pods, plans, holds, planner));
    add(kube::kPodGroups, extender::group_sink(groups, plans, holds, planner));
    for (auto& feed : feeds) feed->list(api.resource_version());
  }

  kube::Store<kube::Node> nodes;
  kube::Store<kube::Pod> pods;
  kube::Store<gang::PodGroup> groups;
  extender::VolumeStores volumes;
  extender::Plans plans{groups, volumes};
  extender::Planner planner;
  extender::Holds holds;
  extender::Binder binder;
  std::vector<std::unique_ptr<Feed>> feeds;

  struct Held {
    extender::Binder::Bind bind;
    extender::Holds::Ticket ticket = 0;
    bool is_started = false;  // its gang: what is left is to be bound last
    bool is_over = false;     // in vain
  };
  bool go_on(Held& call);            // true: it is held no longer
  int finish_held();                 // how many were bound
  std::map<std::string, Held> held;  // by pod UID
};

Scheduling::Scheduling(FakeApi& api, const Clock& clock) : api_(api), clock_(clock) {
  set_log_level(LogLevel::kError);
  restart();
}

Scheduling::~Scheduling() = default;

void Scheduling::restart() { extender_ = std::make_unique<Extender>(api_, clock_); }

void Scheduling::see() {
  for (auto& feed : extender_->feeds) feed->deliver(api_.resource_version());
}

void Scheduling::plan() { extender_->planner.schedule_once(); }

// As its cache shows the pods, which is the extender's here.
std::string Scheduling::node_for(const kube::Pod& pod,
                                 const kube::NodeConstraints& constraints) const {
  for (const auto& node : extender_->nodes.all()) {
    if (kube::judge(*node, constraints) != kube::NodeFit::kAllowed) continue;
    kube::Resources free = node->allocatable;
    for (const auto& other : extender_->pods.all()) {
      if (other->occupies() && other->node.str() == node->name) free -= other->requests;
    }
    if (pod.requests.fits_in(free)) return node->name;
  }
  return "";
}

// A bind call that is held takes no thread here: it is looked at again in each try.
bool Scheduling::Extender::go_on(Held& call) {
  const auto outcome = holds.poll(call.ticket);
  if (!outcome) return false;
  binder.learn(call.bind, *outcome);
  call.is_over = !outcome->result.has_value();
  if (call.is_over || call.is_started) return true;
  const auto is_last = binder.start(call.bind);
  call.is_over = !is_last.has_value();
  call.is_started = true;
  if (call.is_over || !*is_last) return true;
  call.ticket = holds.begin(*call.bind.call);
  return go_on(call);
}

int Scheduling::Extender::finish_held() {
  int bound = 0;
  for (auto at = held.begin(); at != held.end();) {
    if (!go_on(at->second)) {
      ++at;
      continue;
    }
    if (!at->second.is_over && binder.finish(at->second.bind)) ++bound;
    at = held.erase(at);
  }
  return bound;
}

bool Scheduling::try_pod(const kube::Pod& pod, const kube::NodeConstraints& constraints) {
  const std::string node = node_for(pod, constraints);
  if (node.empty()) return false;
  const kube::FilterArgs args{pod, {node}};
  const auto filtered = extender::filter(args, extender::filter_view(extender_->plans, args));
  if (filtered.node_names.empty()) return false;
  auto bind = extender_->binder.prepare({pod.meta.name, pod.meta.ns, pod.meta.uid, node});
  if (!bind) return false;
  if (!bind->call) return extender_->binder.finish(*bind).has_value();
  const auto ticket = extender_->holds.begin(*bind->call);
  extender_->held.insert_or_assign(pod.meta.uid, Extender::Held{*std::move(bind), ticket});
  return false;
}

int Scheduling::schedule() {
  struct Waiting {
    kube::Pod pod;
    kube::NodeConstraints constraints;
  };
  std::vector<Waiting> waiting;
  api_.each(kube::kPods, [&](const Json& object) {
    const bool waits = string_at(object, {"spec", "nodeName"}).empty() &&
                       string_at(object, {"spec", "schedulerName"}) == job::kSchedulerName &&
                       kube::find(object, {"metadata", "deletionTimestamp"}) == nullptr;
    if (!waits) return;
    waiting.push_back({*kube::decode_pod(kube::to_text(object), extender::pod_filter()),
                       kube::constraints_of(object.at("spec"))});
  });
  int bound = 0;
  for (const auto& [pod, constraints] : waiting) {
    if (extender_->held.count(pod.meta.uid) > 0) continue;
    if (try_pod(pod, constraints)) ++bound;
    bound += extender_->finish_held();
    see();
  }
  // The one that is bound last waits for what was just seen.
  return bound + extender_->finish_held();
}

}  // namespace nervex::testing
