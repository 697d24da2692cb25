#include "tests/extender/sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kNsOfPods = "rl";
constexpr int kNodes = 4;
constexpr std::size_t kLongestStory = 120;
constexpr seconds kStep{5};                       // time passes in steps of at most this
constexpr seconds kLatestAct{10};                 // how long an actor may do nothing
constexpr seconds kGcAfter{60};                   // Kubernetes' pod garbage collector
constexpr milliseconds kRejectedStatus{300'000};  // planner.cpp: no sooner again

ExtenderOptions extender_options(const SimOptions& options) {
  ExtenderOptions out;
  out.holds.largest_gang = options.holds_binds ? 1000 : 0;
  out.healing.bind_deadline = seconds(30);
  out.healing.deadline = seconds(120);
  out.node_lost_after = seconds(30);
  return out;
}

Observer::Limits limits_of(const SimOptions& options) {
  const ExtenderOptions extender = extender_options(options);
  // An actor is made to act before more than a step has passed since it is due.
  return {extender.healing.deadline, extender.node_lost_after, kLatestAct + kStep};
}

// The extender may commit before it hears of another scheduler's pod; kube-scheduler, which would
// have, is not asked about pods that are created with their node.
Observer::Counted counted_pods(const SimOptions& options) {
  const bool may_race = options.others_race || options.places_directly;
  return may_race ? Observer::Counted::kGangPods : Observer::Counted::kAllPods;
}

std::string random_node(int number) { return fmt::format("n{}", number); }

}  // namespace

SimCluster::SimCluster(unsigned seed, const SimOptions& options)
    : options_(options),
      rng_(seed),
      observer_(api_, clock_, limits_of(options), counted_pods(options)),
      controller_(api_, clock_, observer_, rng_, options.places_directly) {
  set_log_level(LogLevel::kError);
  api_.terminate_pods_slowly();
  door_.fault = [this](const kube::ApiRequest& request) { return fault_for(request); };
  for (int i = 0; i < kNodes; ++i) add_node(random_node(i), i < 3 ? 8 : 0, 16, i < 2 ? "a" : "b");
  for (const char* zone : {"a", "b"}) {
    add_volume(zone);
    api_.add(kube::kPersistentVolumeClaims, kNsOfPods,
             {{"apiVersion", "v1"},
              {"kind", "PersistentVolumeClaim"},
              {"metadata", {{"name", fmt::format("data-{}", zone)}, {"namespace", kNsOfPods}}},
              {"spec", {{"volumeName", fmt::format("volume-{}", zone)}}}});
  }
  for (MonoTime& acted : acted_) acted = clock_.mono();
  fresh_from_ = api_.resource_version();
  down_since_ = clock_.mono();
  start_extender();
}

void SimCluster::note(const std::string& what) {
  if (story_.size() >= kLongestStory) story_.erase(story_.begin());
  story_.push_back(
      fmt::format("{} v{} {}", to_rfc3339(clock_.now()), api_.resource_version(), what));
}

std::string SimCluster::story() const {
  std::string text = fmt::format("{}\nand in the end:\n", fmt::join(story_, "\n"));
  for (const auto& [uid, group] : observer_.view.groups()) {
    text += fmt::format("{} {} generation {} seen {}\n", group.meta.name, uid,
                        group.meta.generation, group.status.observed_generation);
    for (const gang::GangStatus& gang : group.status.gangs) {
      text += fmt::format("  {}{}: {}, {};", gang.name, gang.committed ? "!" : "", gang.reason,
                          gang.message);
      for (const auto& [role, slot, node, number] : gang.placements) {
        text += fmt::format(" {}/{}/{}#{}@{}", role, slot.ordinal, slot.incarnation, number, node);
      }
      text += "\n";
    }
    for (const auto& avoided : group.status.avoid) {
      text += fmt::format("  {} avoids {} until {}\n", avoided.set, avoided.node,
                          to_rfc3339(avoided.until));
    }
  }
  for (const auto& [uid, pod] : observer_.view.pods()) {
    text += fmt::format("{} {} on '{}' {}{} {} {} {}\n", pod.name,
                        pod.slot ? pod.slot->placement : 0, pod.node, pod.phase,
                        pod.deleting ? ", leaving" : "", pod.reason, pod.refusal, assumed_on(pod));
  }
  for (const auto& [name, node] : observer_.view.nodes()) {
    text += fmt::format("{}{}{}{} ", name, node.ready ? "" : " not ready",
                        node.cordoned ? " cordoned" : "", node.tainted ? " tainted" : "");
  }
  return text;
}

// ---- time

void SimCluster::act(Actor actor) {
  acted_[actor] = clock_.mono();
  switch (actor) {
    case kExtender:
      if (!extender_) return start_extender();
      deliver_all();
      return plan();
    case kScheduler:
      deliver_all();
      return schedule(true);
    case kController:
      return controller_.reconcile();
    default:
      run_kubelets(true);
      run_pod_gc();
  }
}

void SimCluster::pass(milliseconds time) {
  clock_.advance(time);
  observer_.look();
  for (int actor = 0; actor < kActors; ++actor) {
    if (clock_.mono() - acted_[actor] > kLatestAct) act(static_cast<Actor>(actor));
    observer_.look();
  }
}

// ---- the extender

void SimCluster::kill_extender() {
  if (!extender_) return;
  note("the extender is killed");
  count("extender killed");
  for (const auto& [uid, pod] : observer_.view.pods()) {
    if (!extender_->held.node_of(uid).empty()) retry_later(uid);
  }
  extender_.reset();
  down_since_ = clock_.mono();
  fresh_from_ = api_.resource_version();
}

// Each kind is listed at another moment since then; plans are made when all are current.
void SimCluster::start_extender() {
  extender_ = std::make_unique<ExtenderProcess>(door_, api_, clock_, extender_options(options_));
  const std::int64_t now = api_.resource_version();
  for (auto& feed : extender_->feeds) {
    feed->list(now - below(static_cast<std::size_t>(now - fresh_from_ + 1)));
  }
  fresh_from_ = now;
  note("the extender starts");
  observer_.look();
  observer_.extender_was_started(
      std::chrono::duration_cast<milliseconds>(clock_.mono() - down_since_));
}

void SimCluster::in_extender(const std::function<void()>& work) {
  if (!extender_) return;
  try {
    work();
  } catch (const Killed&) {
    kill_extender();
  }
}

void SimCluster::plan() {
  in_extender([this] {
    if (extender_->knows(fresh_from_)) extender_->planner.schedule_once();
  });
  observer_.look();
}

void SimCluster::deliver_some() {
  if (!extender_) return;
  for (auto& feed : extender_->feeds) {
    const auto left = static_cast<std::size_t>(api_.resource_version() - feed->position());
    if (once_in(3)) continue;
    feed->deliver(feed->position() +
                  (once_in(2) ? static_cast<std::int64_t>(left) : below(left + 1)));
  }
}

void SimCluster::deliver_all() {
  if (extender_) extender_->deliver(api_.resource_version());
}

std::optional<Door::Fault> SimCluster::fault_for(const kube::ApiRequest& request) {
  const auto fault = std::find_if(faults_.begin(), faults_.end(),
                                  [&](const Fault& one) { return one.method == request.method; });
  if (fault == faults_.end()) return std::nullopt;
  const Fault hit = *fault;
  faults_.erase(fault);
  note(fmt::format("{} {} fails: {}{}", request.method, request.path,
                   hit.error ? hit.error->message : "the extender is killed",
                   hit.applied == Applied::kYes ? ", carried out" : ""));
  count(hit.error ? "request failed" : "killed at a request");
  // The extender does not know whether the pod is bound, and nobody may come to ask again.
  if (request.method == "POST" && hit.applied == Applied::kNo && once_in(2)) {
    const auto binding = kube::parse_json(request.body);
    const std::string node = kube::string_at(*binding, {"target", "name"});
    const bool dies = once_in(3);
    count("node lost at a binding");
    note(fmt::format("{} {} at that moment", node, dies ? "dies" : "is cordoned"));
    observer_.expect_fresh(false);
    if (observer_.view.node(node) != nullptr) dies ? set_ready(node, false) : cordon(node, true);
  }
  // It is made again when the planner's back-off is over, by the next cycle.
  const bool is_rejected = hit.error && hit.error->code == Code::kInvalid;
  observer_.excuse(is_rejected ? kRejectedStatus + 2 * kLatestAct : milliseconds(2 * kLatestAct));
  return Door::Fault{hit.error, hit.applied};
}

void SimCluster::arm_fault() {
  if (faults_.size() > 2) return;
  const Applied applied = once_in(2) ? Applied::kYes : Applied::kNo;
  const std::string method = once_in(2) ? "PATCH" : once_in(3) ? "GET" : "POST";
  if (options_.has_kills && once_in(6)) {
    faults_.push_back({method, std::nullopt, applied});
  } else if (method == "PATCH" && once_in(3)) {
    const Code code = once_in(4) ? Code::kInvalid : Code::kConflict;
    faults_.push_back({method, Error{code, "rejected"}, Applied::kNo});
  } else {
    faults_.push_back({method, Error{Code::kTransient, "timeout"}, applied});
  }
}

// ---- kube-scheduler

std::string SimCluster::assumed_on(const PodSeen& pod) const {
  if (pod.is_bound()) return pod.occupies() ? pod.node : "";
  return extender_ ? extender_->held.node_of(pod.uid) : "";
}

std::string SimCluster::zone_of(const std::string& claim) const {
  const Json object = api_.get(kube::kPersistentVolumeClaims, kNsOfPods, claim);
  const std::string volume = kube::string_at(object, {"spec", "volumeName"});
  return volume.empty() ? "" : volume.substr(volume.rfind('-') + 1);
}

// NodeUnschedulable, TaintToleration, VolumeBinding, NodePorts, NodeResourcesFit.
bool SimCluster::plugins_allow(const PodSeen& pod, const NodeSeen& node, bool sees_assumed) {
  if (!node.lets_in()) return false;
  for (const std::string& claim : pod.claims) {
    const std::string zone = zone_of(claim);
    if (zone.empty() || zone == node.zone) continue;
    count("volume elsewhere");
    return false;
  }
  const auto is_on = [&](const PodSeen& other) {
    return (sees_assumed ? assumed_on(other) : other.occupies() ? other.node : "") == node.name;
  };
  if (pod.port != 0) {
    for (const auto& [uid, other] : observer_.view.pods()) {
      if (other.port != pod.port || !is_on(other)) continue;
      count("port conflict");
      return false;
    }
  }
  // For gangs the extender's own checks must be enough, unless other schedulers bind pods too.
  if (pod.slot && !options_.scheduler_counts) return true;
  Sums left = node.allocatable;
  for (const auto& [uid, other] : observer_.view.pods()) {
    if (!is_on(other)) continue;
    for (const auto& [name, amount] : other.requests) left[name] -= amount;
  }
  return std::all_of(pod.requests.begin(), pod.requests.end(),
                     [&](const auto& one) { return left[one.first] >= one.second; });
}

// The first time says since when; a later reason is of the same condition.
void SimCluster::refuse(const PodSeen& pod, const std::string& reason) {
  if (pod.refusal == reason) return;
  const Json before = api_.get(kube::kPods, kNsOfPods, pod.name);
  std::string since = to_rfc3339(clock_.now());
  Json conditions = Json::array();
  for (const Json& condition : kube::array_at(before, {"status", "conditions"})) {
    if (condition["type"] != "PodScheduled") {
      conditions.push_back(condition);
    } else if (condition["status"] == "False") {
      since = condition["lastTransitionTime"];
    }
  }
  conditions.push_back({{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", reason},
                        {"message", "0/4 nodes are available"},
                        {"lastTransitionTime", since}});
  count("refused: " + reason);
  api_.change(kube::kPods, kNsOfPods, pod.name, {{"status", {{"conditions", conditions}}}});
}

void SimCluster::retry_later(const std::string& uid) {
  not_before_[uid] =
      clock_.mono() + std::min(seconds(1 << std::min(tries_[uid]++, 4)), seconds(10));
}

void SimCluster::finish_held() {
  in_extender([this] {
    for (const auto& [uid, result] : extender_->held.finish()) {
      tries_.try_emplace(uid, 0);
      observer_.look();
      if (result) {
        count("pod bound");
        continue;
      }
      const std::string& error = result.error().message;
      if (error.find("cannot start now") != std::string::npos) count("commit rejected");
      if (error.find("did not come to be bound") != std::string::npos) count("held in vain");
      retry_later(uid);
      const PodSeen* pod = observer_.view.pod(uid);
      if (pod != nullptr && !pod->is_bound() && pod->slot) refuse(*pod, "SchedulerError");
    }
  });
  observer_.look();
}

void SimCluster::kill_scheduler() {
  if (!extender_) return;
  note("kube-scheduler is killed");
  count("scheduler killed");
  extender_->held.lose_callers();
  not_before_.clear();
  tries_.clear();
}

// VolumeBinding's PreBind: a claim that waited for its first consumer stays with that zone.
void SimCluster::bind_claims(const PodSeen& pod, const std::string& node) {
  for (const std::string& claim : pod.claims) {
    if (!zone_of(claim).empty()) continue;
    count("claim bound late");
    const std::string volume = "volume-" + observer_.view.node(node)->zone;
    api_.change(kube::kPersistentVolumeClaims, kNsOfPods, claim,
                {{"spec", {{"volumeName", volume}}}});
  }
}

void SimCluster::try_pod(const std::string& uid) {
  const PodSeen* pod = observer_.view.pod(uid);
  if (pod == nullptr || pod->is_bound() || pod->deleting) return;
  std::vector<std::string> names;
  for (const auto& [name, node] : observer_.view.nodes()) {
    if (plugins_allow(*pod, node, true)) names.push_back(name);
  }
  kube::FilterResult result;
  if (!names.empty()) {
    const kube::FilterArgs args{
        *kube::decode_pod(kube::to_text(api_.get(kube::kPods, kNsOfPods, pod->name)),
                          extender::pod_filter()),
        names};
    result = extender::filter(args, extender::filter_view(extender_->plans, args));
  }
  if (!result.node_names.empty()) {
    const std::string node =
        result.node_names[static_cast<std::size_t>(below(result.node_names.size()))];
    bind_claims(*pod, node);
    in_extender([&] { extender_->held.begin({pod->name, kNsOfPods, uid, node}); });
  } else {
    retry_later(uid);
    if (pod->slot) refuse(*pod, result.error.empty() ? "Unschedulable" : "SchedulerError");
  }
}

void SimCluster::schedule(bool tries_all) {
  finish_held();
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : observer_.view.pods()) {
    if (!pod.is_bound() && !pod.deleting && assumed_on(pod).empty()) uids.push_back(uid);
  }
  std::shuffle(uids.begin(), uids.end(), rng_);
  for (const std::string& uid : uids) {
    finish_held();
    if (!extender_) return;
    const auto not_before = not_before_.find(uid);
    const bool waits = not_before != not_before_.end() && not_before->second > clock_.mono();
    if (waits || (!tries_all && once_in(3))) continue;
    const bool fresh = tries_all || once_in(2);
    if (fresh) deliver_all();
    observer_.expect_fresh(fresh);
    try_pod(uid);
    finish_held();
    observer_.expect_fresh(false);
    // The cache follows closely where the scheduler's plugins are not what keeps a node from
    // overflow.
    if (extender_ && !options_.scheduler_counts) {
      extender_->pod_feed->deliver(api_.resource_version());
    }
    finish_held();
  }
}

void SimCluster::add_plain_pod() {
  const std::string name = fmt::format("plain{}", names_++);
  kube::Resources requests = ask(below(4), 1);
  requests.set("pods", 0);
  api_.add(kube::kPods, kNsOfPods,
           {{"metadata", {{"name", name}, {"namespace", kNsOfPods}}},
            {"spec",
             {{"schedulerName", "nervex-scheduler"},
              {"containers",
               Json::array({{{"name", "main"},
                             {"resources", {{"requests", kube::encode_resources(requests)}}}}})}}},
            {"status", {{"phase", "Pending"}}}});
}

// Another scheduler binds a pod of its own where it fits, reserved or not.
void SimCluster::add_foreign_pod() {
  if (!options_.scheduler_counts) return;
  const std::string name = random_node(below(kNodes));
  const NodeSeen* node = observer_.view.node(name);
  if (node == nullptr) return;
  PodSeen pod;
  const int gpus = below(node->allocatable.at("nvidia.com/gpu") == 0 ? 1 : 5);
  const int cores = 1 + below(4);
  pod.requests = {{"cpu", cores * 1000}, {"nvidia.com/gpu", gpus}, {"pods", 1}};
  if (once_in(3)) pod.port = 8080;
  if (!plugins_allow(pod, *node, !options_.others_race)) return;
  kube::Resources requests = ask(gpus, cores);
  requests.set("pods", 0);
  Json container{{"name", "main"}, {"resources", {{"requests", kube::encode_resources(requests)}}}};
  if (pod.port != 0) container["ports"] = Json::array({{{"hostPort", pod.port}}});
  count("foreign pod");
  api_.add(kube::kPods, kNsOfPods,
           {{"metadata", {{"name", fmt::format("foreign{}", names_++)}, {"namespace", kNsOfPods}}},
            {"spec", {{"nodeName", name}, {"containers", Json::array({container})}}},
            {"status", {{"phase", "Pending"}}}});
}

// ---- nodes

void SimCluster::add_node(const std::string& name, std::int64_t gpus, std::int64_t cores,
                          const std::string& zone) {
  const kube::Node node = a_node(name, gpus, cores);
  api_.add(kube::kNodes, "",
           {{"apiVersion", "v1"},
            {"kind", "Node"},
            {"metadata", {{"name", name}, {"labels", {{"topology.kubernetes.io/zone", zone}}}}},
            {"spec", Json::object()},
            {"status",
             {{"allocatable", kube::encode_resources(node.allocatable)},
              {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
}

void SimCluster::add_volume(const std::string& zone) {
  const Json expression{
      {"key", "topology.kubernetes.io/zone"}, {"operator", "In"}, {"values", {zone}}};
  api_.add(kube::kPersistentVolumes, "",
           {{"apiVersion", "v1"},
            {"kind", "PersistentVolume"},
            {"metadata", {{"name", "volume-" + zone}}},
            {"spec",
             {{"nodeAffinity",
               {{"required",
                 {{"nodeSelectorTerms",
                   Json::array({{{"matchExpressions", Json::array({expression})}}})}}}}}}}});
}

void SimCluster::set_ready(const std::string& node, bool ready) {
  api_.change(
      kube::kNodes, "", node,
      {{"status",
        {{"conditions", Json::array({{{"type", "Ready"},
                                      {"status", ready ? "True" : "Unknown"},
                                      {"lastTransitionTime", to_rfc3339(clock_.now())}}})}}}});
}

void SimCluster::cordon(const std::string& node, bool cordoned) {
  api_.change(kube::kNodes, "", node, {{"spec", {{"unschedulable", cordoned}}}});
}

void SimCluster::change_node() {
  const int number = below(kNodes);
  const std::string name = random_node(number);
  const bool healthy = once_in(2);
  if (observer_.view.node(name) == nullptr) {
    if (healthy) add_node(name, number < 3 ? 8 : 0, 16, number < 2 ? "a" : "b");
    return;
  }
  switch (below(7)) {
    case 0:
      count("node deleted");
      note(name + " is deleted");
      api_.remove(kube::kNodes, "", name);
      return;
    case 1:
    case 2:
      if (!healthy) count("node not ready");
      note(fmt::format("{} ready: {}", name, healthy));
      return set_ready(name, healthy);
    case 3:
    case 4:
      note(fmt::format("{} cordoned: {}", name, !healthy));
      return cordon(name, !healthy);
    default: {
      const Json taint{{"key", "maintenance"}, {"effect", "NoSchedule"}};
      note(fmt::format("{} tainted: {}", name, !healthy));
      api_.change(kube::kNodes, "", name,
                  {{"spec", {{"taints", healthy ? Json::array() : Json::array({taint})}}}});
    }
  }
}

// By what the kubelet has let in: resources and ports, and no taint or cordon.
bool SimCluster::admits(const PodSeen& pod, const NodeSeen& node) const {
  const auto is_in = [&](const PodSeen& other) { return other.phase == "Running"; };
  const Sums left = observer_.view.left_on(node, is_in);
  for (const auto& [name, amount] : pod.requests) {
    const auto has = left.find(name);
    if (has == left.end() || has->second < amount) return false;
  }
  return std::none_of(
      observer_.view.pods().begin(), observer_.view.pods().end(), [&](const auto& entry) {
        const PodSeen& other = entry.second;
        return other.node == pod.node && is_in(other) && pod.port != 0 && other.port == pod.port;
      });
}

void SimCluster::set_phase(const PodSeen& pod, const std::string& phase,
                           const std::string& reason) {
  Json status{{"phase", phase}};
  if (phase == "Running" || pod.phase == "Pending") status["startTime"] = to_rfc3339(clock_.now());
  if (!reason.empty()) status["reason"] = reason;
  api_.change(kube::kPods, kNsOfPods, pod.name, {{"status", status}});
}

void SimCluster::run_kubelets(bool all) {
  for (const auto& [uid, known] : std::map(observer_.view.pods())) {
    observer_.look();
    const PodSeen* pod = observer_.view.pod(uid);
    if (pod == nullptr || !pod->is_bound() || (!all && once_in(2))) continue;
    const NodeSeen* node = observer_.view.node(pod->node);
    if (node == nullptr || !node->ready) continue;
    if (pod->deleting) {
      api_.end_termination(kNsOfPods, pod->name);
    } else if (pod->phase == "Pending") {
      const bool is_odd = !is_calm_ && once_in(40);
      if (admits(*pod, *node) && !is_odd) {
        set_phase(*pod, "Running", "");
      } else {
        note(fmt::format("kubelet of {} rejects {}", pod->node, pod->name));
        count("kubelet rejection");
        set_phase(*pod, "Failed", is_odd ? "UnexpectedAdmissionError" : "OutOfcpu");
      }
    }
  }
  observer_.look();
}

void SimCluster::run_pod_gc() {
  std::map<std::string, MonoTime> absent;
  for (const auto& [uid, pod] : std::map(observer_.view.pods())) {
    if (!pod.is_bound() || observer_.view.node(pod.node) != nullptr) continue;
    const auto known = absent_.find(pod.node);
    const MonoTime since = known == absent_.end() ? clock_.mono() : known->second;
    absent.emplace(pod.node, since);
    if (clock_.mono() - since < kGcAfter) continue;
    count("pod garbage");
    api_.remove(kube::kPods, kNsOfPods, pod.name);
  }
  absent_ = std::move(absent);
  observer_.look();
}

void SimCluster::finish_pod() {
  for (const auto& [uid, pod] : observer_.view.pods()) {
    if (pod.phase != "Running" || pod.deleting || !once_in(4)) continue;
    note(pod.name + " succeeds");
    return set_phase(pod, "Succeeded", "");
  }
}

void SimCluster::lose_pod() {
  for (const auto& [uid, pod] : observer_.view.pods()) {
    if (!pod.slot || pod.is_finished() || pod.deleting || !once_in(6)) continue;
    if (pod.is_bound() && once_in(2)) {
      note(pod.name + " is evicted");
      return set_phase(pod, "Failed", "Evicted");
    }
    note(pod.name + " is deleted by a user");
    (void)kube::delete_object(api_, kube::kPods, kNsOfPods, pod.name, uid);
    return;
  }
}

// ---- events

void SimCluster::step() {
  const int event = below(28);
  observer_.look();
  switch (event) {
    case 0:
      controller_.submit();
      break;
    case 1:
      if (once_in(2)) controller_.end_job();
      break;
    case 2:
      add_plain_pod();
      break;
    case 3:
      change_node();
      break;
    case 4:
      arm_fault();
      break;
    case 5:
    case 6:
      deliver_some();
      break;
    case 7:
      if (extender_) extender_->held.notice_callers();
      break;
    case 8:
    case 9:
    case 10:
      plan();
      break;
    case 11:
    case 12:
    case 13:
      controller_.reconcile();
      break;
    case 14:
    case 15:
    case 16:
      schedule(false);
      break;
    case 17:
      controller_.reshape();
      break;
    case 18:
      controller_.grow();
      break;
    case 19:
      controller_.merge();
      break;
    case 20:
      if (options_.places_directly && once_in(3)) {
        controller_.end_direct_placement();
      } else if (once_in(2)) {
        controller_.requeue();
      }
      break;
    case 21:
      once_in(2) ? finish_pod() : lose_pod();
      break;
    case 22:
      add_foreign_pod();
      break;
    case 23:
    case 24:
      run_kubelets(false);
      break;
    case 25:
      change_node();
      break;
    case 26:
      add_foreign_pod();
      break;
    default:
      if (!extender_) {
        start_extender();
      } else if (!options_.has_kills) {
        break;
      } else if (once_in(5)) {
        kill_extender();
      } else if (once_in(3)) {
        kill_scheduler();
      }
  }
  pass(milliseconds(below(once_in(3) ? kStep.count() * 1000 : 1000)));
}

// ---- the end

void SimCluster::repair() {
  is_calm_ = true;
  faults_.clear();
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = random_node(i);
    if (observer_.view.node(name) == nullptr) {
      add_node(name, i < 3 ? 8 : 0, 16, i < 2 ? "a" : "b");
      continue;
    }
    set_ready(name, true);
    api_.change(kube::kNodes, "", name,
                {{"spec", {{"taints", Json::array()}, {"unschedulable", false}}}});
  }
  for (int i = 0; i < 16; ++i) add_node(fmt::format("more{}", i), 64, 128, i % 2 == 0 ? "a" : "b");
  for (const auto& [uid, pod] : observer_.view.pods()) {
    if (!pod.slot) api_.remove(kube::kPods, kNsOfPods, pod.name);
  }
  // Pods of one port need a node each.
  int with_port = 0;
  for (const auto& [uid, group] : observer_.view.groups()) {
    if (group.spec.priority != 1 || ++with_port <= 2) continue;
    api_.remove(kube::kPodGroups, kNsOfPods, group.meta.name);
  }
  // Without held binds a coordinator whose port is taken meets the same nodes in each attempt.
  for (const auto& [uid, group] : observer_.view.groups()) {
    if (options_.holds_binds || group.spec.priority != 2) continue;
    api_.remove(kube::kPodGroups, kNsOfPods, group.meta.name);
  }
  if (!extender_) start_extender();
  extender_->held.notice_callers();
  observer_.look();
}

std::string SimCluster::not_whole() const {
  for (const auto& [uid, group] : observer_.view.groups()) {
    if (group.status.observed_generation != group.meta.generation) {
      return group.meta.name + " is not decided on";
    }
    for (const gang::GangStatus& gang : group.status.gangs) {
      const std::string what = fmt::format("gang {} of {} ({}: {})", gang.name, group.meta.name,
                                           gang.reason, gang.message);
      if (!gang.committed) return what + " has not started";
      if (gang.healing_since) return what + " is being healed";
    }
    for (const gang::MemberSet& set : group.spec.members) {
      for (const gang::SlotId slot : set.slots) {
        const auto& pods = observer_.view.pods();
        const bool is_there = std::any_of(pods.begin(), pods.end(), [&](const auto& entry) {
          const PodSeen& pod = entry.second;
          return pod.slot && pod.slot->pod_group_uid == uid && pod.slot->role == set.role &&
                 pod.slot->slot == slot && pod.is_bound() && !pod.was_taken_away() &&
                 !pod.node_lost;
        });
        if (!is_there) {
          return fmt::format("{} of {} has no pod in place", gang::slot_key(set.role, slot.ordinal),
                             group.meta.name);
        }
      }
    }
  }
  return "";
}

void SimCluster::come_to_rest() {
  observer_.look();
  repair();
  // Longer than a set keeps away from a node, and than a gang whose plans fail waits for the next.
  constexpr std::chrono::minutes kLongest{40};
  const MonoTime begin = clock_.mono();
  int quiet = 0;
  while (quiet < 3 && clock_.mono() - begin < kLongest && broken().empty()) {
    const std::int64_t before = api_.resource_version();
    for (int actor = 0; actor < kActors; ++actor) act(static_cast<Actor>(actor));
    observer_.look();
    const bool is_done = api_.resource_version() == before && not_whole().empty();
    quiet = is_done ? quiet + 1 : 0;
    pass(kStep);
  }
  if (!broken().empty()) return;
  if (const std::string missing = not_whole(); !missing.empty()) {
    observer_.breach("at rest " + missing);
  } else if (quiet < 3) {
    observer_.breach("something happens at rest, for ever");
  }
  if (!extender_->plans.unconfirmed().empty()) observer_.breach("at rest a write is unconfirmed");
}

}  // namespace nervex::testing
