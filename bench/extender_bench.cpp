// bench/extender_bench.cpp - what does the extender cost while others' pods come and go, and how
// soon does a new leader plan?
//
// The real stores, sinks, cluster cache and planner over an API server in memory that answers
// status writes alone. Nodes and pods are fed as the JSON that a real API server writes. Three
// questions:
//   start    all nodes and pods are listed, then a first gang is planned
//   idle     nothing waits, foreign pods come and go (created, bound, running, deleted)
//   waiting  gangs wait for GPUs that no node has, in queues if there are any; foreign pods come
//            and go
// Prints a table of CPU (of one core), scheduling cycles a second and the latency of filter, the
// resident memory, which includes that of the API server in memory; and one JSON line.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/log.h"
#include "extender/observe/cluster_cache.h"
#include "extender/watches.h"
#include "planner/bind/filter.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

struct Options {
  int nodes = 5'000;
  int pods = 150'000;
  int gangs = 200;         // that wait
  double idle_pods = 636;  // foreign pods a second while nothing waits
  double wait_pods = 50;   // and while gangs wait
  double seconds = 10;
  int queues = 0;
};
constexpr int kNamespaces = 20;  // without queues; with them one for each

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// VmRSS, without what was freed.
double resident_mib() {
  malloc_trim(0);
  std::ifstream status("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  status >> total_pages >> resident_pages;
  return resident_pages * 4'096 / (1 << 20);
}

std::string read_file(const std::string& file) {
  std::ifstream in(file);
  if (!in) std::abort();
  return Json::parse(in).dump();
}

std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string out;
  std::size_t from = 0;
  while (true) {
    const std::size_t open = text.find("<<", from);
    if (open == std::string::npos) return out + text.substr(from);
    const std::size_t close = text.find(">>", open);
    out.append(text, from, open - from);
    out += values.at(text.substr(open + 2, close - open - 2));
    from = close + 2;
  }
}

std::string node_name(int i) { return fmt::format("node-{:05}.example.internal", i); }

// PodGroups alone, and of those the status.
class GroupApi final : public kube::Api {
 public:
  Result<std::string> send(const kube::ApiRequest& request) override {
    MutexLock lock(mutex_);
    const auto parts = request.path.substr(0, request.path.find("/status"));
    const auto at = objects_.find(parts);
    if (at == objects_.end()) return Error{Code::kNotFound, request.path};
    if (request.method == "PATCH") {
      const Json patch = Json::parse(request.body);
      at->second.merge_patch(Json{{"status", patch.at("status")}});
      at->second["metadata"]["resourceVersion"] = std::to_string(++version_);
      ++writes;
    }
    return kube::to_text(at->second);
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return Error{Code::kInternal, "not watched"};
  }
  std::string add(const gang::PodGroup& group) {
    Json object{{"apiVersion", gang::kApiVersion},
                {"kind", gang::kKind},
                {"metadata",
                 {{"name", group.meta.name},
                  {"namespace", group.meta.ns},
                  {"uid", group.meta.uid},
                  {"generation", 1}}},
                {"spec", gang::encode_spec(group.spec)}};
    MutexLock lock(mutex_);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    const std::string path = kube::api_path(kube::kPodGroups, group.meta.ns, group.meta.name);
    objects_[path] = object;
    return kube::to_text(object);
  }
  std::atomic<int> writes{0};

 private:
  Mutex mutex_;
  std::map<std::string, Json> objects_;
  std::uint64_t version_ = 1'000'000'000;
};

gang::MemberSet a_set(const std::string& role, int count, kube::Resources requests) {
  requests.set("pods", 1);
  gang::MemberSet set{role, role, {}, 0, {std::move(requests), {}}};
  for (int i = 0; i < count; ++i) set.slots.push_back({i, 0});
  return set;
}

gang::PodGroup a_group(int number, int gpus, int namespaces = kNamespaces) {
  gang::PodGroup group;
  group.meta.name = fmt::format("job-{}-1", number);
  group.meta.ns = fmt::format("team-{}", number % namespaces);
  group.meta.uid = fmt::format("00000000-0000-4000-8000-{:012}", number);
  gang::Gang& base = group.spec.gangs.emplace_back();
  base.name = gang::kBaseGang;
  base.members = {a_set("coordinator", 1, {{"cpu", 1'000}, {"memory", 1LL << 30}}),
                  a_set("collector", 8, {{"cpu", 1'000}, {"memory", 2LL << 30}})};
  if (gpus > 0) {
    base.members.push_back(
        a_set("learner", 8,
              {{"cpu", 2'000}, {"memory", 4LL << 30}, {"nvidia.com/gpu", std::int64_t{gpus}}}));
  }
  return group;
}

struct Extender {
  SystemClock clock;
  GroupApi api;
  Stores stores;
  ClusterCache cache{stores.groups, stores.pods, stores.volumes, clock};
  Planner planner{api, cache.planner, clock};
  Holds holds{cache.binds, clock};
  LostNodes lost_nodes{api, stores.nodes, stores.pods, clock, std::chrono::seconds(60)};
  kube::ReflectorSink nodes = node_sink(stores.nodes, cache.updates, planner, &lost_nodes);
  kube::ReflectorSink pods = pod_sink(stores.pods, cache.updates, holds, planner, &lost_nodes);
  kube::ReflectorSink groups = group_sink(stores.groups, cache.updates, holds, planner);
  std::atomic<int> cycles{0};
  std::atomic<std::int64_t> cycle_ns{0};
  std::jthread thread;

  Extender() {
    planner.begin_cycles_with([this] { return lost_nodes.mark_pods(); });
    planner.observe_cycles([this](const Planner::CycleTimes& times) {
      ++cycles;
      cycle_ns += times.total.count();
    });
  }
  void start() {
    thread = std::jthread([this](const std::stop_token& stop) { planner.run(stop); });
  }
};

// The cluster's text, made before anything is measured.
class Feeder {
 public:
  Feeder() : pod_(read_file(NERVEX_CACHE_OBJECTS "/pod_foreign.json")) {}

  std::string pod(int number, int node, const std::string& phase) {
    const int set = number / 20;
    std::string text =
        fill_in(pod_, {{"name", fmt::format("service-{}-{:06x}", set, number)},
                       {"set", fmt::format("service-{}", set)},
                       {"namespace", fmt::format("others-{}", set % 200)},
                       {"uid", fmt::format("10000000-0000-4000-8000-{:012}", number)},
                       {"owner", fmt::format("20000000-0000-4000-8000-{:012}", set)},
                       {"version", std::to_string(++version_)},
                       {"node", node_name(node)},
                       {"cpu", "100m"}});
    if (phase == "Running") return text;
    Json object = Json::parse(text);
    object["status"] = {{"phase", "Pending"}};
    if (phase == "Created") object["spec"].erase("nodeName");
    return object.dump();
  }

  std::string node(int number) {
    return Json{{"metadata",
                 {{"name", node_name(number)},
                  {"uid", fmt::format("30000000-0000-4000-8000-{:012}", number)},
                  {"resourceVersion", std::to_string(++version_)},
                  {"labels", {{"kubernetes.io/hostname", node_name(number)}}}}},
                {"spec", Json::object()},
                {"status",
                 {{"allocatable",
                   {{"cpu", "64"},
                    {"memory", "256Gi"},
                    // One in a hundred has GPUs, all of them too few for what waits.
                    {"nvidia.com/gpu", number % 100 == 0 ? "4" : "0"},
                    {"pods", "110"}}},
                  {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}}
        .dump();
  }

 private:
  const std::string pod_;
  std::uint64_t version_ = 810'000'000;
};

struct Figures {
  double core_percent = 0;  // without this benchmark's own work
  double cycles_a_second = 0;
  double filter_p50_us = 0;
  double filter_p99_us = 0;
  int writes = 0;
};

// What making and handing over the events costs without the extender: decoding is counted as its.
struct Load {
  std::vector<std::string> upserts[3];  // created, bound, running
};

Figures run_load(Extender& extender, Feeder& feeder, const Options& options, double pods_a_second,
                 int first) {
  const int count = static_cast<int>(pods_a_second * options.seconds);
  Load load;
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    const int node = static_cast<int>(random() % static_cast<unsigned>(options.nodes));
    load.upserts[0].push_back(feeder.pod(first + i, node, "Created"));
    load.upserts[1].push_back(feeder.pod(first + i, node, "Bound"));
    load.upserts[2].push_back(feeder.pod(first + i, node, "Running"));
  }
  const kube::Node any = **extender.stores.nodes.all().begin();
  kube::FilterArgs args;
  args.node_names = {any.name};
  const gang::PodSlot slot{"00000000-0000-4000-8000-000000000001", "learner", {0, 0}, 1};
  std::vector<double> filter_us;

  extender.cycles = 0;
  extender.api.writes = 0;
  const auto began = std::chrono::steady_clock::now();
  const double cpu_began = cpu_seconds();
  double own = 0;
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_until(began + Seconds(i / pods_a_second));
    (void)extender.pods.upsert(load.upserts[0][static_cast<std::size_t>(i)]);
    (void)extender.pods.upsert(load.upserts[1][static_cast<std::size_t>(i)]);
    (void)extender.pods.upsert(load.upserts[2][static_cast<std::size_t>(i)]);
    // Half of them live for a second.
    const int old = i - static_cast<int>(pods_a_second);
    if (old >= 0) extender.pods.remove(load.upserts[2][static_cast<std::size_t>(old)]);
    const auto asked = std::chrono::steady_clock::now();
    planner::FilterView view;
    view.synced = true;
    view.slot = slot;
    view.seen = extender.cache.binds.slot_seen(slot);
    (void)filter(args, view);
    filter_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - asked)
            .count());
  }
  const double wall = Seconds(std::chrono::steady_clock::now() - began).count();
  Figures out;
  out.core_percent = 100 * (cpu_seconds() - cpu_began - own) / wall;
  out.cycles_a_second = extender.cycles / wall;
  out.writes = extender.api.writes;
  std::sort(filter_us.begin(), filter_us.end());
  out.filter_p50_us = filter_us[filter_us.size() / 2];
  out.filter_p99_us = filter_us[filter_us.size() * 99 / 100];
  return out;
}

void print(const std::string& name, const Figures& figures) {
  fmt::print(
      "{:8} {:6.2f} % of a core, {:6.1f} cycles/s, filter p50 {:6.1f} us p99 {:7.1f} us, {} "
      "status writes\n",
      name, figures.core_percent, figures.cycles_a_second, figures.filter_p50_us,
      figures.filter_p99_us, figures.writes);
  std::fflush(stdout);
}

Json encode_figures(const Figures& figures) {
  return {{"core_percent", figures.core_percent},
          {"cycles_a_second", figures.cycles_a_second},
          {"filter_p50_us", figures.filter_p50_us},
          {"filter_p99_us", figures.filter_p99_us},
          {"status_writes", figures.writes}};
}

void add_queues(Extender& extender, int count) {
  for (int i = 0; i < count; ++i) {
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = fmt::format("team-{}", i);
    ns->meta.labels = {{queue::kQueueLabel, ns->meta.name}};
    queue::Queue queue;
    queue.name = ns->meta.name;
    queue.fair_users = i % 2 == 0;
    queue.namespace_selector = {{{std::string(queue::kQueueLabel), {}, {queue.name}}}};
    queue.quota = {{"nvidia.com/gpu", 4, {}}};
    extender.cache.updates.namespace_changed(nullptr, ns);
    extender.cache.updates.queue_changed(nullptr, std::make_shared<const queue::Queue>(queue));
  }
}

void wait_for_writes(Extender& extender, int writes) {
  while (extender.api.writes < writes) std::this_thread::sleep_for(milliseconds(1));
}

int run(const Options& options) {
  set_log_level(LogLevel::kError);
  Feeder feeder;
  std::vector<std::string> nodes;
  std::vector<std::string> pods;
  nodes.reserve(static_cast<std::size_t>(options.nodes));
  pods.reserve(static_cast<std::size_t>(options.pods));
  for (int i = 0; i < options.nodes; ++i) nodes.push_back(feeder.node(i));
  for (int i = 0; i < options.pods; ++i)
    pods.push_back(feeder.pod(i, i % options.nodes, "Running"));

  Extender extender;
  const double cpu_began = cpu_seconds();
  extender.nodes.begin_list();
  for (const std::string& node : nodes) (void)extender.nodes.upsert(node);
  extender.nodes.end_list("820000000");
  const double cpu_nodes = cpu_seconds();
  extender.pods.begin_list();
  for (const std::string& pod : pods) (void)extender.pods.upsert(pod);
  extender.pods.end_list("820000000");
  const double cpu_listed = cpu_seconds();
  const std::string first = extender.api.add(a_group(900'000, 0));
  extender.groups.begin_list();
  (void)extender.groups.upsert(first);
  extender.groups.end_list("1000000001");
  extender.start();
  wait_for_writes(extender, 1);
  const double cpu_planned = cpu_seconds();
  fmt::print(
      "{} nodes, {} pods\nstart    nodes {:.2f} s, pods {:.2f} s, first plan {:.3f} s of CPU\n",
      options.nodes, options.pods, cpu_nodes - cpu_began, cpu_listed - cpu_nodes,
      cpu_planned - cpu_listed);
  std::this_thread::sleep_for(milliseconds(100));
  nodes = {};
  pods = {};
  const double resident = resident_mib();

  int next = 1'000'000;
  const Figures idle = run_load(extender, feeder, options, options.idle_pods, next);
  print("idle", idle);
  next += 1'000'000;
  add_queues(extender, options.queues);
  for (int i = 0; i < options.gangs; ++i) {
    (void)extender.groups.upsert(
        extender.api.add(a_group(i, 8, options.queues > 0 ? options.queues : kNamespaces)));
  }
  const double cpu_waits = cpu_seconds();
  extender.api.writes = 0;
  wait_for_writes(extender, options.gangs);
  std::this_thread::sleep_for(milliseconds(500));
  fmt::print("{} gangs wait after {:.2f} s of CPU\n", options.gangs, cpu_seconds() - cpu_waits);
  const Figures waiting = run_load(extender, feeder, options, options.wait_pods, next);
  print("waiting", waiting);
  const double resident_waiting = resident_mib();
  fmt::print("resident {:.0f} MiB, {:.0f} MiB while {} gangs wait in {} queues\n", resident,
             resident_waiting, options.gangs, options.queues);
  const Json line{{"bench", "extender"},
                  {"nodes", options.nodes},
                  {"pods", options.pods},
                  {"gangs", options.gangs},
                  {"queues", options.queues},
                  {"resident_mib", resident},
                  {"resident_waiting_mib", resident_waiting},
                  {"list_cpu_s", cpu_listed - cpu_began},
                  {"first_plan_cpu_s", cpu_planned - cpu_listed},
                  {"idle", encode_figures(idle)},
                  {"waiting", encode_figures(waiting)}};
  fmt::print("{}\n", line.dump());
  extender.thread.request_stop();
  return 0;
}

}  // namespace
}  // namespace nervex::extender

// extender_bench [NODES [PODS [GANGS [SECONDS [QUEUES]]]]]
int main(int argc, char** argv) {
  nervex::extender::Options options;
  if (argc > 1) options.nodes = std::atoi(argv[1]);
  if (argc > 2) options.pods = std::atoi(argv[2]);
  if (argc > 3) options.gangs = std::atoi(argv[3]);
  if (argc > 4) options.seconds = std::atof(argv[4]);
  if (argc > 5) options.queues = std::atoi(argv[5]);
  return nervex::extender::run(options);
}
