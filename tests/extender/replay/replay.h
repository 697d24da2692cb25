// tests/extender/replay/replay.h - what does the planner decide on a recorded cluster?
//
// The recording has what a real leader has decided, too. So nothing that is decided here is stored:
// each write is refused as a conflict, and the planner reads what the recording has next. It is a
// planner that follows a cluster without steering it, and its requests are a function of the
// recording alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "extender/observe/cluster_cache.h"
#include "extender/watches.h"
#include "tests/support/fake_clock.h"

namespace nervex::testing {

// A change of an object: a line of tools/cluster/recording.py.
struct RecordedChange {
  SysTime at{};
  std::string path;  // of the collection
  bool is_deletion = false;
  std::string object;  // JSON
};
Result<RecordedChange> parse_recorded(std::string_view line);

struct ReplayOptions {
  planner::CycleOptions cycle{};
  planner::PlanExpiryOptions plan_expiry{};
  std::chrono::milliseconds node_lost_after{60'000};
  std::string node_class_label = "nvidia.com/gpu.product";
  // Changes within this time are seen together.
  std::chrono::milliseconds coalesce{20};
  // A cycle runs at least this often.
  std::chrono::milliseconds period{1'000};
};

class Replay {
 public:
  // `note` gets each request that is not a read, and each answer to kube-scheduler.
  Replay(const ReplayOptions& options, std::function<void(std::string_view line)> note);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // In the order of storage. Runs the cycles that are due before it.
  void apply(const RecordedChange& change);
  // Runs the last cycle.
  void finish();
  int cycles() const { return cycles_; }

 private:
  class RecordedApi;
  void run_until(SysTime now);
  void run_cycle();
  void ask_filter(const std::string& pod);

  const ReplayOptions options_;
  const std::function<void(std::string_view)> note_;
  FakeClock clock_;
  std::unique_ptr<RecordedApi> api_;
  extender::Stores stores_;
  extender::ClusterCache cache_;
  extender::Planner planner_;
  extender::Holds holds_;
  extender::LostNodes lost_nodes_;
  std::map<std::string, kube::ReflectorSink, std::less<>> sinks_;  // by collection
  std::set<std::string> changed_pods_;                             // JSON; since the last cycle
  std::optional<SysTime> changed_;  // the first change since the last cycle
  SysTime last_cycle_{};
  int cycles_ = 0;
};

}  // namespace nervex::testing
