#include "tests/extender/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "extender/bind/routes.h"
#include "extender/observe/live_objects.h"
#include "kube/model/extender_api.h"
#include "kube/model/watch.h"

namespace nervex::testing {

Result<RecordedChange> parse_recorded(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  const auto has = [&](const char* key, bool (Json::*is)() const noexcept) {
    return json.contains(key) && (json.at(key).*is)();
  };
  if (!json.is_object() || !has("at", &Json::is_number) || !has("path", &Json::is_string) ||
      !has("type", &Json::is_string) || !has("object", &Json::is_object)) {
    return Error{Code::kInvalid, "not a change of a recording: at, path, type, object"};
  }
  RecordedChange change;
  change.at = SysTime(std::chrono::milliseconds(std::llround(json.at("at").get<double>() * 1'000)));
  change.path = json.at("path").get<std::string>();
  change.is_deletion = json.at("type") == "DELETED";
  change.object = json.at("object").dump();
  return change;
}

// Reads have the objects as recorded so far; every write is a conflict.
class Replay::RecordedApi final : public kube::Api {
 public:
  explicit RecordedApi(const std::function<void(std::string_view)>& note) : note_(note) {}

  Result<std::string> send(const kube::ApiRequest& request) override {
    if (request.method != "GET") {
      note_(fmt::format("{} {} {}", request.method, request.path, request.body));
      return Error{Code::kConflict, "replayed"};
    }
    const auto found = objects_.find(request.path);
    if (found == objects_.end()) return Error{Code::kNotFound, "not in the recording"};
    return found->second;
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return Error{Code::kInternal, "a recording has no watches"};
  }

  void store(const RecordedChange& change) {
    const std::string path = path_of(change);
    change.is_deletion ? void(objects_.erase(path))
                       : void(objects_.insert_or_assign(path, change.object));
  }

 private:
  // "/api/v1/pods" and "rl/p" are "/api/v1/namespaces/rl/pods/p".
  static std::string path_of(const RecordedChange& change) {
    const std::string key = kube::identify(change.object)->key;
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) return change.path + "/" + key;
    const std::size_t plural = change.path.rfind('/');
    return fmt::format("{}/namespaces/{}{}{}", change.path.substr(0, plural), key.substr(0, slash),
                       change.path.substr(plural), key.substr(slash));
  }

  const std::function<void(std::string_view)>& note_;
  std::map<std::string, std::string> objects_;  // JSON by path
};

Replay::Replay(const ReplayOptions& options, std::function<void(std::string_view line)> note)
    : options_(options),
      note_(std::move(note)),
      api_(std::make_unique<RecordedApi>(note_)),
      cache_(stores_.groups, stores_.pods, stores_.volumes, clock_),
      planner_(*api_, cache_.planner, clock_, options.cycle, options.plan_expiry),
      holds_(cache_.binds, clock_, {}),
      lost_nodes_(*api_, stores_.nodes, stores_.pods, clock_, options.node_lost_after) {
  cache_.set_node_labels({options.node_class_label, {}});
  planner_.begin_cycles_with([this] { return lost_nodes_.mark_pods(); });
  auto& updates = cache_.updates;
  const auto add = [this](const kube::ResourceKind& kind, kube::ReflectorSink sink) {
    sinks_.emplace(kube::api_path(kind), std::move(sink));
  };
  add(kube::kNodes, extender::node_sink(stores_.nodes, updates, planner_, &lost_nodes_));
  add(kube::kPods, extender::pod_sink(stores_.pods, updates, holds_, planner_, &lost_nodes_));
  add(kube::kResourceQuotas, extender::quota_sink(stores_.quotas, updates, planner_));
  add(kube::kNamespaces, extender::namespace_sink(stores_.namespaces, updates, planner_));
  add(kube::kQueues, extender::queue_sink(stores_.queues, updates, planner_));
  add(kube::kPersistentVolumeClaims,
      extender::claim_sink(stores_.volumes.claims, updates, planner_));
  add(kube::kPersistentVolumes, extender::volume_sink(stores_.volumes.volumes, updates, planner_));
  add(kube::kDeviceClasses, extender::device_class_sink(stores_.device_classes, updates, planner_));
  add(kube::kPodGroups, extender::group_sink(stores_.groups, updates, holds_, planner_));
  add(kube::kForeignPodGroups,
      extender::foreign_group_sink(stores_.foreign_groups, updates, holds_, planner_));
  for (auto& [path, sink] : sinks_) {
    sink.begin_list();
    sink.end_list("0");
  }
}

Replay::~Replay() = default;

void Replay::apply(const RecordedChange& change) {
  run_until(change.at);
  const auto sink = sinks_.find(change.path);
  if (sink == sinks_.end()) return;
  api_->store(change);
  if (change.is_deletion) {
    sink->second.remove(change.object);
  } else if (const auto taken = sink->second.upsert(change.object); !taken) {
    note_("unreadable: " + taken.error().message);
  }
  if (!changed_) changed_ = change.at;
  if (change.path == kube::api_path(kube::kPods) && !change.is_deletion) {
    changed_pods_.insert(change.object);
  }
}

void Replay::finish() { run_cycle(); }

void Replay::run_until(SysTime now) {
  while (true) {
    SysTime due = last_cycle_ + options_.period;
    if (changed_) due = std::min(due, *changed_ + options_.coalesce);
    if (last_cycle_ == SysTime{}) due = now;  // the first changes are what exists at the start
    if (due >= now) break;
    if (due > clock_.now()) clock_.advance(due - clock_.now());
    run_cycle();
  }
  if (now > clock_.now()) clock_.advance(now - clock_.now());
  if (last_cycle_ == SysTime{}) last_cycle_ = now;
}

void Replay::run_cycle() {
  note_(fmt::format("-- cycle {} at {}", ++cycles_, to_rfc3339_micro(clock_.now())));
  last_cycle_ = clock_.now();
  changed_.reset();
  planner_.schedule_once();
  for (const std::string& pod : changed_pods_) ask_filter(pod);
  changed_pods_.clear();
}

void Replay::ask_filter(const std::string& pod) {
  const auto seen = kube::decode_pod(pod, extender::pod_filter());
  if (!seen || !seen->node.empty() || seen->meta.deleting) return;
  kube::FilterArgs args{*seen, {}};
  args.node_names = stores_.nodes.keys();
  const auto answer = planner::filter(args, extender::filter_view(cache_.binds, args));
  note_(fmt::format("filter {} {}", seen->meta.key(), kube::encode_filter_result(answer)));
}

}  // namespace nervex::testing
