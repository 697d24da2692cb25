#include "tests/extender/sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kNodeCount = 4;
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

Observer::Limits observer_limits(const SimOptions& options) {
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
      observer_(view, clock, observer_limits(options), counted_pods(options)),
      controller_(*this, observer_, rng_, options.places_directly),
      scheduler_(*this, extender_,
                 {.counts_gang_pods = options.scheduler_counts, .backs_off = true}) {
  set_log_level(LogLevel::kError);
  api.terminate_pods_slowly();
  door_.fault = [this](const kube::ApiRequest& request) { return fault_for(request); };
  connect_scheduler();
  for (int i = 0; i < kNodeCount; ++i) add_random_node(i);
  for (const char* zone : {"a", "b"}) {
    add_volume(zone);
    api.add(kube::kPersistentVolumeClaims, kNamespace,
            {{"apiVersion", "v1"},
             {"kind", "PersistentVolumeClaim"},
             {"metadata", {{"name", fmt::format("data-{}", zone)}, {"namespace", kNamespace}}},
             {"spec", {{"volumeName", fmt::format("volume-{}", zone)}}}});
  }
  for (MonoTime& acted : acted_) acted = clock.mono();
  fresh_from_ = api.resource_version();
  down_since_ = clock.mono();
  start_extender();
}

void SimCluster::note(const std::string& what) {
  if (story_.size() >= kLongestStory) story_.erase(story_.begin());
  story_.push_back(fmt::format("{} v{} {}", to_rfc3339(clock.now()), api.resource_version(), what));
}

std::string SimCluster::story() const {
  std::string text = fmt::format("{}\nand in the end:\n", fmt::join(story_, "\n"));
  for (const auto& [uid, group] : view.groups()) {
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
  for (const auto& [uid, pod] : view.pods()) {
    text +=
        fmt::format("{} {} on '{}' {}{} {} {} {}\n", pod.name, pod.slot ? pod.slot->placement : 0,
                    pod.node, pod.phase, pod.deleting ? ", leaving" : "", pod.reason, pod.refusal,
                    scheduler_.assumed_on(pod));
  }
  for (const auto& [name, node] : view.nodes()) {
    text += fmt::format("{}{}{}{} ", name, node.ready ? "" : " not ready",
                        node.cordoned ? " cordoned" : "", node.tainted ? " tainted" : "");
  }
  return text;
}

// ---- time

void SimCluster::act(Actor actor) {
  acted_[actor] = clock.mono();
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
  clock.advance(time);
  observer_.look();
  for (int actor = 0; actor < kActors; ++actor) {
    if (clock.mono() - acted_[actor] > kLatestAct) act(static_cast<Actor>(actor));
    observer_.look();
  }
}

// ---- the extender

void SimCluster::kill_extender() {
  if (!extender_) return;
  note("the extender is killed");
  count("extender killed");
  scheduler_.lose_extender();
  extender_.reset();
  down_since_ = clock.mono();
  fresh_from_ = api.resource_version();
}

// Each kind is listed at another moment since then; plans are made when all are current.
void SimCluster::start_extender() {
  extender_ = std::make_unique<ExtenderProcess>(door_, api, clock, extender_options(options_));
  const std::int64_t now = api.resource_version();
  for (auto& feed : extender_->feeds) {
    feed->list(now - below(static_cast<std::size_t>(now - fresh_from_ + 1)));
  }
  fresh_from_ = now;
  note("the extender starts");
  observer_.look();
  observer_.extender_was_started(
      std::chrono::duration_cast<milliseconds>(clock.mono() - down_since_));
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
    const auto left = static_cast<std::size_t>(api.resource_version() - feed->position());
    if (once_in(3)) continue;
    feed->deliver(feed->position() +
                  (once_in(2) ? static_cast<std::int64_t>(left) : below(left + 1)));
  }
}

void SimCluster::deliver_all() {
  if (extender_) extender_->deliver(api.resource_version());
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
  // The extender does not know whether the pod is bound, and the bind may not be retried.
  if (request.method == "POST" && hit.applied == Applied::kNo && once_in(2)) {
    const auto binding = kube::parse_json(request.body);
    const std::string node = kube::string_at(*binding, {"target", "name"});
    const bool dies = once_in(3);
    count("node lost at a binding");
    note(fmt::format("{} {} at that moment", node, dies ? "dies" : "is cordoned"));
    observer_.expect_fresh(false);
    if (view.node(node) != nullptr) dies ? set_ready(node, false) : set_cordoned(node, true);
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

void SimCluster::connect_scheduler() {
  scheduler_.in_extender = [this](const auto& work) { in_extender(work); };
  scheduler_.look = [this] { observer_.look(); };
  scheduler_.count = [this](const auto& what) { count(what); };
  scheduler_.choose_index = [this](std::size_t n) { return static_cast<std::size_t>(below(n)); };
}

void SimCluster::kill_scheduler() {
  if (!extender_) return;
  note("kube-scheduler is killed");
  count("scheduler killed");
  scheduler_.restart();
}

void SimCluster::schedule(bool tries_all) {
  scheduler_.finish_held();
  std::vector<std::string> uids = scheduler_.waiting();
  std::shuffle(uids.begin(), uids.end(), rng_);
  for (const std::string& uid : uids) {
    scheduler_.finish_held();
    if (!extender_) return;
    if (!scheduler_.is_due(uid) || (!tries_all && once_in(3))) continue;
    const bool fresh = tries_all || once_in(2);
    if (fresh) deliver_all();
    observer_.expect_fresh(fresh);
    scheduler_.try_pod(uid);
    scheduler_.finish_held();
    observer_.expect_fresh(false);
    // The cache follows closely where the scheduler's plugins are not what keeps a node from
    // overflow.
    if (extender_ && !options_.scheduler_counts) {
      extender_->pod_feed->deliver(api.resource_version());
    }
    scheduler_.finish_held();
  }
}

void SimCluster::add_plain_pod() {
  add_pod({.name = fmt::format("plain{}", names_++),
           .requests = ask(below(4), 1),
           .scheduler = std::string(gang::kSchedulerName)});
}

// Another scheduler binds one of its pods where it fits, ignoring reservations.
void SimCluster::add_foreign_pod() {
  if (!options_.scheduler_counts) return;
  const std::string name = random_node(below(kNodeCount));
  const NodeSeen* node = view.node(name);
  if (node == nullptr) return;
  PodSeen seen;
  const int gpus = below(node->allocatable.at("nvidia.com/gpu") == 0 ? 1 : 5);
  const int cores = 1 + below(4);
  seen.requests = {{"cpu", cores * 1000}, {"nvidia.com/gpu", gpus}, {"pods", 1}};
  if (once_in(3)) seen.port = 8080;
  if (!scheduler_.plugins_allow(seen, *node, !options_.others_race)) return;
  NewPod pod{
      .name = fmt::format("foreign{}", names_++), .requests = ask(gpus, cores), .node = name};
  if (seen.port != 0) pod.host_ports.push_back(seen.port);
  count("foreign pod");
  add_pod(pod);
}

// ---- nodes

void SimCluster::add_random_node(int number) {
  add_node(random_node(number), number < 3 ? 8 : 0, 16, number < 2 ? "a" : "b");
}

void SimCluster::add_volume(const std::string& zone) {
  const Json expression{
      {"key", "topology.kubernetes.io/zone"}, {"operator", "In"}, {"values", {zone}}};
  api.add(kube::kPersistentVolumes, "",
          {{"apiVersion", "v1"},
           {"kind", "PersistentVolume"},
           {"metadata", {{"name", "volume-" + zone}}},
           {"spec",
            {{"nodeAffinity",
              {{"required",
                {{"nodeSelectorTerms",
                  Json::array({{{"matchExpressions", Json::array({expression})}}})}}}}}}}});
}

void SimCluster::change_node() {
  const int number = below(kNodeCount);
  const std::string name = random_node(number);
  const bool healthy = once_in(2);
  if (view.node(name) == nullptr) {
    if (healthy) add_random_node(number);
    return;
  }
  switch (below(7)) {
    case 0:
      count("node deleted");
      note(name + " is deleted");
      return delete_node(name);
    case 1:
    case 2:
      if (!healthy) count("node not ready");
      note(fmt::format("{} ready: {}", name, healthy));
      return set_ready(name, healthy);
    case 3:
    case 4:
      note(fmt::format("{} cordoned: {}", name, !healthy));
      return set_cordoned(name, !healthy);
    default:
      note(fmt::format("{} tainted: {}", name, !healthy));
      set_tainted(name, !healthy);
  }
}

void SimCluster::run_kubelets(bool all) {
  for (const auto& [uid, known] : std::map(view.pods())) {
    observer_.look();
    const PodSeen* pod = view.pod(uid);
    if (pod == nullptr || !pod->is_bound() || (!all && once_in(2))) continue;
    const NodeSeen* node = view.node(pod->node);
    if (node == nullptr || !node->ready) continue;
    if (pod->deleting) {
      api.end_termination(kNamespace, pod->name);
    } else if (pod->phase == "Pending") {
      const bool is_odd = !is_calm_ && once_in(40);
      if (admits(*pod) && !is_odd) {
        run_pod(pod->name);
      } else {
        note(fmt::format("kubelet of {} rejects {}", pod->node, pod->name));
        count("kubelet rejection");
        reject_pod(pod->name, is_odd ? "UnexpectedAdmissionError" : "OutOfcpu");
      }
    }
  }
  observer_.look();
}

void SimCluster::run_pod_gc() {
  std::map<std::string, MonoTime> absent;
  for (const auto& [uid, pod] : std::map(view.pods())) {
    if (!pod.is_bound() || view.node(pod.node) != nullptr) continue;
    const auto known = absent_.find(pod.node);
    const MonoTime since = known == absent_.end() ? clock.mono() : known->second;
    absent.emplace(pod.node, since);
    if (clock.mono() - since < kGcAfter) continue;
    count("pod garbage");
    api.remove(kube::kPods, kNamespace, pod.name);
  }
  absent_ = std::move(absent);
  observer_.look();
}

void SimCluster::finish_pod() {
  for (const auto& [uid, pod] : view.pods()) {
    if (pod.phase != "Running" || pod.deleting || !once_in(4)) continue;
    note(pod.name + " succeeds");
    return end_pod(pod.name, true);
  }
}

void SimCluster::lose_pod() {
  for (const auto& [uid, pod] : view.pods()) {
    if (!pod.slot || pod.is_finished() || pod.deleting || !once_in(6)) continue;
    if (pod.is_bound() && once_in(2)) {
      note(pod.name + " is evicted");
      return evict_pod(pod.name);
    }
    note(pod.name + " is deleted by a user");
    (void)kube::delete_object(api, kube::kPods, kNamespace, pod.name, uid);
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
  for (int i = 0; i < kNodeCount; ++i) {
    const std::string name = random_node(i);
    if (view.node(name) == nullptr) {
      add_random_node(i);
    } else {
      repair_node(name);
    }
  }
  for (int i = 0; i < 16; ++i) add_node(fmt::format("more{}", i), 64, 128, i % 2 == 0 ? "a" : "b");
  for (const auto& [uid, pod] : view.pods()) {
    if (!pod.slot) api.remove(kube::kPods, kNamespace, pod.name);
  }
  // Pods of one port need a node each.
  int with_port = 0;
  for (const auto& [uid, group] : view.groups()) {
    if (group.spec.priority != 1 || ++with_port <= 2) continue;
    api.remove(kube::kPodGroups, kNamespace, group.meta.name);
  }
  // Without held binds a coordinator whose port is taken meets the same nodes in each attempt.
  for (const auto& [uid, group] : view.groups()) {
    if (options_.holds_binds || group.spec.priority != 2) continue;
    api.remove(kube::kPodGroups, kNamespace, group.meta.name);
  }
  if (!extender_) start_extender();
  extender_->held.notice_callers();
  observer_.look();
}

std::string SimCluster::not_whole() const {
  for (const auto& [uid, group] : view.groups()) {
    if (group.status.observed_generation != group.meta.generation) {
      return group.meta.name + " is not decided on";
    }
    for (const gang::GangStatus& gang : group.status.gangs) {
      const std::string what = fmt::format("gang {} of {} ({}: {})", gang.name, group.meta.name,
                                           gang.reason, gang.message);
      if (!gang.committed) return what + " has not started";
      if (gang.healing_since) return what + " is being healed";
    }
    for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
      for (const gang::SlotId slot : set.slots) {
        const auto& pods = view.pods();
        const bool is_there =
            std::any_of(pods.begin(), pods.end(), [&, &uid = uid](const auto& entry) {
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
  const MonoTime begin = clock.mono();
  int quiet = 0;
  while (quiet < 3 && clock.mono() - begin < kLongest && broken().empty()) {
    const std::int64_t before = api.resource_version();
    for (int actor = 0; actor < kActors; ++actor) act(static_cast<Actor>(actor));
    observer_.look();
    const bool is_done = api.resource_version() == before && not_whole().empty();
    quiet = is_done ? quiet + 1 : 0;
    pass(kStep);
  }
  if (!broken().empty()) return;
  if (const std::string missing = not_whole(); !missing.empty()) {
    observer_.breach("at rest " + missing);
  } else if (quiet < 3) {
    observer_.breach("something happens at rest, endlessly");
  }
  if (!extender_->cache.planner.unconfirmed().empty())
    observer_.breach("at rest a write is unconfirmed");
}

}  // namespace nervex::testing
