// bench/cache_bench.cpp - what does a cached pod or node cost: memory, decoding, first sync?
//
// Feeds list replies as a real API server writes them through the real path (split_list, the
// reflector's sink, the programs' own filters, the store) and reads the allocator's statistics
// before and after. Budgets: 600 bytes a pod, 2,000 bytes a node, all heap included.
#include <malloc.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>

#include "gang/slot.h"
#include "job/counts.h"
#include "kube/cache/reflector.h"
#include "kube/model/watch.h"

namespace nervex {
namespace {

constexpr int kPodCount = 150'000;
constexpr int kNodeCount = 15'000;
constexpr int kPodsPerNode = kPodCount / kNodeCount;
constexpr int kGangSize = 64;
constexpr int kPage = 500;

// Of this process: other work on the machine does not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Bytes in use, what malloc needs beside each block included.
std::size_t heap_in_use() {
  const auto statistics = mallinfo2();
  return statistics.uordblks + statistics.hblkhd;
}

// ---- realistic text

// An object as a real API server (1.36) writes it, with <<placeholders>>.
class Template {
 public:
  explicit Template(const std::string& file) {
    std::ifstream in(file);
    if (!in) std::abort();
    text_ = Json::parse(in).dump();
  }

  std::string with(const std::map<std::string, std::string>& values) const {
    std::string text;
    text.reserve(text_.size() + 512);
    std::size_t from = 0;
    while (true) {
      const std::size_t open = text_.find("<<", from);
      if (open == std::string::npos) return text + text_.substr(from);
      const std::size_t close = text_.find(">>", open);
      text.append(text_, from, open - from);
      text += values.at(text_.substr(open + 2, close - open - 2));
      from = close + 2;
    }
  }

 private:
  std::string text_;
};

std::string uid(std::mt19937_64& random) {
  const std::uint64_t a = random();
  const std::uint64_t b = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     b >> 52, b & 0xFFFFFFFFFFFF);
}

std::string node_name(int i) {
  return fmt::format("ip-10-{}-{}-{}.eu-west-1.compute.internal", i / 62'500, i / 250 % 250,
                     i % 250);
}

std::string foreign_pod(const Template& pod, int i, std::mt19937_64& random) {
  const int set = i / 20;  // a ReplicaSet of twenty
  std::mt19937_64 of_set(static_cast<std::uint64_t>(set));
  const std::string app = fmt::format("service-{}-{:09x}", set, set * 7'919'191LL);
  return pod.with({{"name", fmt::format("{}-{:05x}", app, i * 7919 & 0xFFFFF)},
                   {"set", app},
                   {"namespace", fmt::format("team-{}-production", set % 200)},
                   {"uid", uid(random)},
                   {"owner", uid(of_set)},
                   {"version", std::to_string(810'000'000 + i * 3)},
                   {"node", node_name(i / kPodsPerNode)},
                   {"cpu", fmt::format("{}m", 100 * (1 + set % 40))}});
}

std::string gang_pod(const Template& pod, int i, std::mt19937_64& random) {
  const int gang = i / kGangSize;
  std::mt19937_64 of_gang(static_cast<std::uint64_t>(gang));
  const std::string job = fmt::format("dqn-experiment-{}", gang);
  return pod.with({{"name", fmt::format("{}-collector-{}", job, i % kGangSize)},
                   {"job", job},
                   {"index", std::to_string(i % kGangSize)},
                   {"namespace", fmt::format("team-{}-training", gang % 200)},
                   {"uid", uid(random)},
                   {"owner", uid(of_gang)},
                   {"group", uid(of_gang)},
                   {"version", std::to_string(810'000'000 + i * 3)},
                   {"node", node_name(i / kPodsPerNode)}});
}

std::string a_node(const Template& node, int i, std::mt19937_64& random) {
  return node.with({{"name", node_name(i)},
                    {"uid", uid(random)},
                    {"version", std::to_string(810'000'000 + i * 3)},
                    {"instance", fmt::format("i-{:017x}", random() >> 4)},
                    {"zone", fmt::format("eu-west-1{}", "abc"[i % 3])},
                    {"cpu", i % 3 == 0 ? "95690m" : "63770m"}});
}

template <typename F>
std::vector<std::string> make_pages(int count, F object) {
  std::mt19937_64 random(4);
  std::vector<std::string> pages;
  for (int first = 0; first < count; first += kPage) {
    std::string page = R"({"kind":"List","metadata":{"resourceVersion":"900000000"},"items":[)";
    for (int i = first; i < std::min(first + kPage, count); ++i) {
      if (i != first) page += ',';
      page += object(i, random);
    }
    pages.push_back(page + "]}");
  }
  return pages;
}

// ---- measuring

struct Figures {
  std::string what;
  int count = 0;
  std::size_t text_bytes = 0;  // of one object
  double bytes = 0;            // of heap, for one object
  double seconds = 0;          // of CPU, for all
};

void feed(const kube::ReflectorSink& sink, const std::vector<std::string>& pages) {
  for (const auto& page : pages) {
    const auto split = kube::split_list(page);
    if (!split) std::abort();
    for (const auto item : split->items) {
      if (!sink.upsert(item)) std::abort();
    }
  }
}

template <typename T>
Figures measure(const std::string& what, int count, const std::vector<std::string>& pages,
                Result<T> (*decode)(std::string_view),
                typename kube::Store<T>::IndexOf index_of = nullptr) {
  std::size_t text = 0;
  for (const auto& page : pages) text += page.size();
  kube::Store<T> store(std::move(index_of));
  const auto sink = kube::sink_into<T>(store, decode, nullptr);
  malloc_trim(0);
  const std::size_t before = heap_in_use();
  const double start = cpu_seconds();
  feed(sink, pages);
  const double seconds = cpu_seconds() - start;
  const auto bytes = static_cast<double>(heap_in_use() - before) / count;
  if (store.size() != static_cast<std::size_t>(count)) std::abort();
  return {what, count, text / static_cast<std::size_t>(count), bytes, seconds};
}

// As extender::pod_filter().
Result<kube::Pod> decode_for_extender(std::string_view json) {
  static const kube::PodFilter kFilter = gang::with_slot_annotations({});
  return kube::decode_pod(json, kFilter);
}

// As nervex-server and nervex-controller keep the pods of jobs.
Result<kube::Pod> decode_for_controller(std::string_view json) {
  static const kube::PodFilter kFilter = gang::with_slot_annotations(job::pod_filter());
  return kube::decode_pod(json, kFilter);
}

std::vector<Figures> measure_all(const std::string& folder) {
  const Template foreign(folder + "/pod_foreign.json");
  const Template gang(folder + "/pod_gang.json");
  const Template node(folder + "/node.json");
  std::vector<Figures> all;
  {
    const auto pages = make_pages(
        kPodCount, [&](int i, std::mt19937_64& random) { return foreign_pod(foreign, i, random); });
    all.push_back(
        measure<kube::Pod>("foreign pods, extender", kPodCount, pages, decode_for_extender));
  }
  {
    const auto pages = make_pages(
        kPodCount, [&](int i, std::mt19937_64& random) { return gang_pod(gang, i, random); });
    all.push_back(measure<kube::Pod>("gang pods, extender", kPodCount, pages, decode_for_extender));
    all.push_back(
        measure<kube::Pod>("gang pods, controller", kPodCount, pages, decode_for_controller));
    all.push_back(measure<kube::Pod>("gang pods, server (indexed by job)", kPodCount, pages,
                                     decode_for_controller,
                                     [](const kube::Pod& pod) { return pod.meta.owner->uid; }));
  }
  for (const int count : {5'000, kNodeCount}) {
    const auto pages =
        make_pages(count, [&](int i, std::mt19937_64& random) { return a_node(node, i, random); });
    all.push_back(
        measure<kube::Node>(fmt::format("nodes, {}", count), count, pages, kube::decode_node));
  }
  return all;
}

void print(const std::vector<Figures>& all) {
  fmt::print("{:34} {:>8} {:>10} {:>12} {:>10} {:>8}\n", "cache", "objects", "text/obj",
             "heap B/obj", "us/obj", "CPU s");
  for (const auto& f : all) {
    fmt::print("{:34} {:>8} {:>10} {:>12.0f} {:>10.2f} {:>8.2f}\n", f.what, f.count, f.text_bytes,
               f.bytes, f.seconds / f.count * 1e6, f.seconds);
  }
  const double sync = all[0].seconds + all[4].seconds;
  fmt::print("first sync, 150,000 foreign pods and 5,000 nodes: {:.2f} CPU s\n", sync);
  const Json line = {{"benchmark", "cache"},
                     {"foreign_pod_bytes", std::lround(all[0].bytes)},
                     {"gang_pod_bytes_extender", std::lround(all[1].bytes)},
                     {"gang_pod_bytes_controller", std::lround(all[2].bytes)},
                     {"gang_pod_bytes_server", std::lround(all[3].bytes)},
                     {"node_bytes", std::lround(all[5].bytes)},
                     {"foreign_pod_us", all[0].seconds / all[0].count * 1e6},
                     {"gang_pod_us", all[2].seconds / all[2].count * 1e6},
                     {"node_us", all[5].seconds / all[5].count * 1e6},
                     {"sync_seconds", sync}};
  fmt::print("{}\n", line.dump());
}

}  // namespace
}  // namespace nervex

int main() { nervex::print(nervex::measure_all(NERVEX_CACHE_OBJECTS)); }
