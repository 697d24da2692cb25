#include "queue/preemption.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/queue/builders.h"
#include "tests/support/seeds.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::a_tree;
using testing::at;
using testing::at_second;
using testing::below;
using testing::kGpu;
using testing::queued;
using testing::with_quota;

constexpr std::int64_t kNow = 10'000;

Queue reclaiming(Queue queue, Queue::Reclaim reclaim = Queue::Reclaim::kAny) {
  queue.reclaim = reclaim;
  return queue;
}
Queue preempting(Queue queue) {
  queue.preemption = Queue::Preemption::kLowerPriority;
  return queue;
}

Workload running(const std::string& queue, const std::string& name, std::int64_t gpus,
                 int priority = 0, std::int64_t started = 0) {
  Workload workload = queued(queue, name, gpus, 0, priority);
  workload.kind = gang::GangKind::kBase;
  workload.state = Workload::State::kRunning;
  workload.started_at = at_second(started);
  return workload;
}
Workload waiting(const std::string& queue, std::int64_t gpus, int priority = 0) {
  Workload workload = queued(queue, "new", gpus, 0, priority);
  workload.kind = gang::GangKind::kBase;
  return workload;
}
Workload a_request(Workload workload) {
  workload.kind = gang::GangKind::kRequest;
  return workload;
}
Workload foreign(Workload workload) {
  workload.kind.reset();
  return workload;
}

// Who may end for the workload, by name, in the order of cost.
struct Question {
  QueueTree tree;
  std::vector<Workload> runs;
  Workload starts;
  PreemptionMode mode = PreemptionMode::kFull;

  Usage count_use() const {
    Usage usage(tree);
    for (const Workload& one : runs) usage.add(tree, *tree.find(one.queue), one);
    return usage;
  }
  std::vector<std::string> answer() const {
    std::vector<PreemptionCandidate> candidates;
    for (const Workload& one : runs) candidates.push_back({{&one}});
    sort_by_cost(candidates);
    const Usage usage = count_use();
    const Preemptor preemptor = make_preemptor(tree, usage, *tree.find(starts.queue), starts);
    std::vector<std::string> names;
    for (const std::size_t i :
         find_preemptible(tree, usage, mode, preemptor, candidates, at_second(kNow))) {
      names.push_back(candidates[i].first().name);
    }
    return names;
  }
};
using Names = std::vector<std::string>;

TEST_CASE("a workload preempts what its queue and the flag allow", "[queue][preemption]") {
  struct Row {
    std::string when;
    std::vector<Queue> queues;
    std::vector<Workload> runs;
    Workload starts;
    PreemptionMode mode;
    Names may_end;
  };
  const auto full = PreemptionMode::kFull;
  const Queue vision = with_quota(a_queue("vision"), 8);
  const Queue speech = a_queue("speech");
  const Row row = GENERATE_COPY(values<Row>({
      {"reclaim: from a queue above its quota",
       {reclaiming(vision), speech},
       {running("speech", "s", 4)},
       waiting("vision", 4),
       full,
       {"s"}},
      {"reclaim: the flag allows it alone",
       {reclaiming(vision), speech},
       {running("speech", "s", 4)},
       waiting("vision", 4),
       PreemptionMode::kReclaim,
       {"s"}},
      {"the flag is off",
       {reclaiming(vision), speech},
       {running("speech", "s", 4)},
       waiting("vision", 4),
       PreemptionMode::kOff,
       {}},
      {"reclaim: Never",
       {vision, speech},
       {running("speech", "s", 4)},
       waiting("vision", 4),
       full,
       {}},
      {"reclaim: LowerPriority, and only one is lower",
       {reclaiming(vision, Queue::Reclaim::kLowerPriority), speech},
       {running("speech", "equal", 4, 5), running("speech", "lower", 4, 4)},
       waiting("vision", 4, 5),
       full,
       {"lower"}},
      {"the queue that takes would exceed its own quota",
       {reclaiming(vision), speech},
       {running("speech", "s", 4), running("vision", "v", 6)},
       waiting("vision", 4),
       full,
       {}},
      {"the other queue is within its quota",
       {reclaiming(vision), with_quota(speech, 4)},
       {running("speech", "s", 4)},
       waiting("vision", 4),
       full,
       {}},
      {"the other queue would fall below its quota",
       {reclaiming(vision), with_quota(speech, 4)},
       {running("speech", "large", 6)},
       waiting("vision", 4),
       full,
       {}},
      {"only as many as are borrowed",
       {reclaiming(vision), with_quota(speech, 4)},
       {running("speech", "a", 2), running("speech", "b", 2), running("speech", "c", 2),
        running("speech", "d", 2)},
       waiting("vision", 8),
       full,
       {"a", "b"}},
      {"it reclaims nothing from its own queue",
       {reclaiming(vision), speech},
       {running("vision", "v", 4)},
       waiting("vision", 4),
       full,
       {}},
      {"priority: strictly lower in its own queue",
       {preempting(speech)},
       {running("speech", "lower", 4, 1), running("speech", "equal", 4, 2)},
       waiting("speech", 4, 2),
       full,
       {"lower"}},
      {"priority: not with the flag reclaim",
       {preempting(speech)},
       {running("speech", "lower", 4, 1)},
       waiting("speech", 4, 2),
       PreemptionMode::kReclaim,
       {}},
      {"priority: not in other queues",
       {preempting(speech), a_queue("other")},
       {running("other", "lower", 4, 1)},
       waiting("speech", 4, 2),
       full,
       {}},
      {"priority: Never",
       {speech},
       {running("speech", "lower", 4, 1)},
       waiting("speech", 4, 2),
       full,
       {}},
      {"it has run for less than 300 s",
       {reclaiming(vision), speech},
       {running("speech", "young", 4, 0, kNow - 299), running("speech", "old", 4, 0, kNow - 300)},
       waiting("vision", 4),
       full,
       {"old"}},
      {"it belongs to another operator",
       {reclaiming(vision), speech},
       {foreign(running("speech", "s", 4))},
       waiting("vision", 4),
       full,
       {}},
      {"another operator's gang preempts nothing",
       {reclaiming(vision), speech},
       {running("speech", "s", 4)},
       foreign(waiting("vision", 4)),
       full,
       {}},
      {"the root guarantees nothing",
       {reclaiming(vision)},
       {running("", "unmatched", 4)},
       waiting("vision", 4),
       full,
       {"unmatched"}},
      {"cost: requests before base gangs, then low priority, then young",
       {reclaiming(vision), speech},
       {running("speech", "old", 1, 1, 0), running("speech", "young", 1, 1, 100),
        running("speech", "high", 1, 2), a_request(running("speech", "request", 1, 9))},
       waiting("vision", 4),
       full,
       {"request", "young", "old", "high"}},
      {"a parent is within its quota although its part borrows",
       {reclaiming(vision), with_quota(a_queue("org"), 8), a_queue("speech", "org")},
       {running("speech", "s", 4)},
       waiting("vision", 4),
       full,
       {}},
      {"a sibling borrows from the common parent",
       {with_quota(a_queue("org"), 8), reclaiming(with_quota(a_queue("vision", "org"), 4)),
        a_queue("speech", "org")},
       {running("speech", "s", 8)},
       waiting("vision", 4),
       full,
       {"s"}},
      {"the queue keeps the quota of its parent: parts of that parent are spared",
       {with_quota(a_queue("org"), 8), reclaiming(a_queue("vision", "org")),
        a_queue("speech", "org"), a_queue("other")},
       {running("speech", "sibling", 4), running("other", "stranger", 4)},
       waiting("vision", 4),
       full,
       {"stranger"}},
  }));
  INFO(row.when);
  CHECK(Question{a_tree(row.queues), row.runs, row.starts, row.mode}.answer() == row.may_end);
}

Workload with_cpu(Workload workload, std::int64_t milli) {
  workload.requests.set("cpu", milli);
  return workload;
}

TEST_CASE("a generous quota of one resource protects nothing that borrows another",
          "[queue][preemption]") {
  Queue speech = with_quota(a_queue("speech"), 8);
  speech.quota.insert(speech.quota.begin(), {"cpu", 100'000, {}});
  const Question question{
      a_tree({reclaiming(with_quota(a_queue("vision"), 8)), speech}),
      {with_cpu(running("speech", "a", 8), 8'000), with_cpu(running("speech", "b", 4, -1), 4'000),
       with_cpu(running("speech", "cpu-only", 0, -2), 4'000)},
      with_cpu(waiting("vision", 4), 4'000)};
  CHECK(question.answer() == Names{"b"});
}

TEST_CASE("two queues that guarantee different resources do not reclaim in turn",
          "[queue][preemption]") {
  Queue by_cpu = reclaiming(a_queue("by-cpu"));
  by_cpu.quota = {{"cpu", 8'000, {}}};
  const Queue by_gpu = reclaiming(with_quota(a_queue("by-gpu"), 4));
  const Question question{a_tree({by_cpu, by_gpu}),
                          {with_cpu(running("by-cpu", "a", 4), 8'000)},
                          with_cpu(waiting("by-gpu", 4), 8'000)};
  CHECK(question.answer().empty());
}

TEST_CASE("a job and one of its requests end once", "[queue][preemption]") {
  const QueueTree tree =
      a_tree({reclaiming(with_quota(a_queue("vision"), 8)), with_quota(a_queue("speech"), 4)});
  const Workload base = running("speech", "job", 4);
  const Workload request = a_request(running("speech", "job", 4));
  const Workload other = running("speech", "other", 4, 1);
  Usage usage(tree);
  for (const auto* one : {&base, &request, &other}) usage.add(tree, at(tree, "speech"), *one);
  const std::vector<PreemptionCandidate> candidates{{{&request}}, {{&base, &request}}, {{&other}}};
  const Workload starts = waiting("vision", 8);
  const Preemptor preemptor = make_preemptor(tree, usage, at(tree, "vision"), starts);
  CHECK(find_preemptible(tree, usage, PreemptionMode::kFull, preemptor, candidates,
                         at_second(kNow)) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("a queue that reclaims from any other may reclaim once it keeps a quota",
          "[queue][preemption]") {
  using Reclaim = Queue::Reclaim;
  struct Row {
    std::string when;
    std::string queue;
    std::string from;
    bool want;
    PreemptionMode mode = PreemptionMode::kReclaim;
  };
  const QueueTree tree =
      a_tree({reclaiming(with_quota(a_queue("any"), 8)),
              reclaiming(with_quota(a_queue("lower"), 8), Reclaim::kLowerPriority),
              reclaiming(a_queue("without-quota")), with_quota(a_queue("team"), 8),
              reclaiming(a_queue("part", "team")), a_queue("other-part", "team")});
  const auto row = GENERATE(values<Row>({
      {"it keeps its own quota", "any", "lower", true},
      {"the other one is the root", "any", "", true},
      {"the flag is off", "any", "lower", false, PreemptionMode::kOff},
      {"it is the same queue", "any", "any", false},
      {"it asks for priorities", "lower", "any", false},
      {"nothing is guaranteed", "without-quota", "any", false},
      {"its parent has a quota", "part", "any", true},
      {"its parent has a quota, which the other one is a part of", "part", "other-part", false},
      {"it is the root", "", "any", false},
  }));
  INFO("when " << row.when);
  CHECK(may_reclaim_any(tree, row.mode, *tree.find(row.queue), *tree.find(row.from)) == row.want);
}

TEST_CASE("a candidate becomes preemptible when it has run for long enough",
          "[queue][preemption]") {
  const QueueTree tree = a_tree({reclaiming(with_quota(a_queue("vision"), 8)), a_queue("speech")});
  const Workload young = running("speech", "young", 4, 0, kNow - 100);
  const Workload starts = waiting("vision", 4);
  const Preemptor preemptor = make_preemptor(tree, Usage(tree), at(tree, "vision"), starts);
  const auto ask = [&](PreemptionMode mode, std::int64_t now) {
    return preemptible_at(tree, mode, preemptor, {{&young}}, at_second(now));
  };
  CHECK(ask(PreemptionMode::kFull, kNow) == at_second(kNow + 200));
  CHECK_FALSE(ask(PreemptionMode::kFull, kNow + 200));
  CHECK_FALSE(ask(PreemptionMode::kOff, kNow));
}

TEST_CASE("a job is as old as its base gang; a young request protects itself alone",
          "[queue][preemption]") {
  const QueueTree tree = a_tree({reclaiming(with_quota(a_queue("vision"), 8)), a_queue("speech")});
  Workload base = running("speech", "job", 4);
  Workload request = a_request(running("speech", "job", 4, 0, kNow - 100));
  const Workload starts = waiting("vision", 4);
  const Preemptor preemptor = make_preemptor(tree, Usage(tree), at(tree, "vision"), starts);
  const auto may_end = [&](const PreemptionCandidate& candidate, std::int64_t now) {
    return may_preempt(tree, PreemptionMode::kFull, preemptor, candidate, at_second(now));
  };
  const PreemptionCandidate job{{&base, &request}};
  CHECK(may_end(job, kNow));
  CHECK_FALSE(may_end({{&request}}, kNow));
  CHECK(may_end({{&request}}, kNow + 200));
  request.started_at.reset();  // unknown
  CHECK(may_end(job, kNow));
  CHECK_FALSE(may_end({{&request}}, kNow + 200));
  base.started_at.reset();
  CHECK_FALSE(may_end(job, kNow));
}

// -- the search

// Victims are bins with some capacity; what starts needs a sum in one group of bins.
struct Bins {
  std::vector<int> size;
  int need = 0;

  bool fits(std::span<const std::size_t> victims) const {
    return std::accumulate(victims.begin(), victims.end(), 0,
                           [&](int sum, std::size_t i) { return sum + size[i]; }) >= need;
  }
  FitsWithout ask() const {
    return [this](std::span<const std::size_t> victims) -> std::optional<std::vector<std::size_t>> {
      if (!fits(victims)) return std::nullopt;
      return std::vector<std::size_t>(victims.begin(), victims.end());
    };
  }
};
std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST_CASE("the search takes the cheapest victims and spares those that it can",
          "[queue][preemption]") {
  struct Row {
    std::string when;
    std::vector<int> size;
    int need;
    std::vector<std::size_t> victims;
  };
  const Row row = GENERATE(values<Row>({
      {"nothing is enough", {1, 1}, 3, {}},
      {"there is nothing", {}, 1, {}},
      {"the first is enough", {4, 4, 4}, 4, {0}},
      {"a large one spares the small ones before it", {1, 1, 8}, 8, {2}},
      {"a large one is spared if small ones are enough", {2, 2, 2, 2, 8}, 8, {0, 1, 2, 3}},
      {"all are needed", {2, 2, 2}, 6, {0, 1, 2}},
  }));
  INFO(row.when);
  const Bins bins{row.size, row.need};
  const auto found = search_victims(first(row.size.size()), bins.ask(), 100);
  CHECK(found.victims == row.victims);
  CHECK_FALSE(found.gave_up);
}

TEST_CASE("a search that nothing helps costs one trial", "[queue][preemption]") {
  const Bins bins{std::vector<int>(1'000, 1), 1'001};
  CHECK(search_victims(first(1'000), bins.ask(), 100).trials == 1);
}

TEST_CASE("a search that uses up its trials says so, and what it found fits",
          "[queue][preemption]") {
  const Bins bins{std::vector<int>(1'000, 1), 300};
  const auto found = search_victims(first(1'000), bins.ask(), 40);
  CHECK(found.gave_up);
  CHECK(found.trials == 40);
  CHECK(bins.fits(found.victims));
}

TEST_CASE("no victim that was found can be spared", "[queue][preemption][property]") {
  const testing::Seeds seeds = testing::seeds_to_try(1, 2'000);
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    INFO("NERVEX_SIM_SEED=" << seed);
    std::mt19937 rng(seed);
    Bins bins;
    for (unsigned i = below(rng, 12); i > 0; --i) {
      bins.size.push_back(static_cast<int>(below(rng, 9)));
    }
    bins.need = 1 + static_cast<int>(below(rng, 20));
    const auto all = first(bins.size.size());
    const auto found = search_victims(all, bins.ask(), 1'000);
    CHECK(found.victims.empty() != bins.fits(all));
    for (std::size_t i = 0; i < found.victims.size(); ++i) {
      auto rest = found.victims;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_FALSE(bins.fits(rest));
    }
  }
}

// -- stability: workloads that never end, on GPUs that are too few

// How a faulty set of rules sees the world.
enum class Fault { kNone, kEqualPriority, kBelowQuota, kBeyondOwnQuota };

class World {
 public:
  World(unsigned seed, Fault fault) : rng_(seed), fault_(fault), tree_(make_tree(rng_)) {
    for (int i = 0; i < 12; ++i) {
      const std::string queue = "q" + std::to_string(below(rng_, kQueues));
      all_.push_back(running(queue, "w" + std::to_string(i), 1 + below(rng_, 6),
                             static_cast<int>(below(rng_, 3))));
      all_.back().state = Workload::State::kWaiting;
    }
  }

  // Rounds until nothing is preempted any more; nullopt: it does not settle.
  std::optional<int> settle() {
    for (int round = 0; round < 200; ++round) {
      fill();
      now_ += 1'000;
      if (!preempt_once()) return round;
    }
    return std::nullopt;
  }
  bool has_turned() const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& pair) {
      return pairs_.count({pair.second, pair.first}) > 0;
    });
  }
  bool is_any_below_quota() const { return is_any_below_quota_; }
  std::size_t preemptions() const { return pairs_.size(); }

 private:
  static constexpr unsigned kQueues = 4;
  static constexpr std::int64_t kGpus = 16;

  static QueueTree make_tree(std::mt19937& rng) {
    std::vector<Queue> queues;
    for (unsigned i = 0; i < kQueues; ++i) {
      Queue queue = with_quota(a_queue("q" + std::to_string(i)), below(rng, 7));
      queue.reclaim = below(rng, 3) == 0 ? Queue::Reclaim::kLowerPriority : Queue::Reclaim::kAny;
      queue.preemption = Queue::Preemption::kLowerPriority;
      queues.push_back(std::move(queue));
    }
    return a_tree(std::move(queues));
  }
  Usage count_use(const QueueTree& tree) const {
    Usage usage(tree);
    for (const Workload& one : all_) {
      if (one.state == Workload::State::kRunning) usage.add(tree, at(tree, one.queue), one);
    }
    return usage;
  }
  std::int64_t free() const { return kGpus - count_use(tree_).rigid(kRoot).total.get(kGpu); }
  void start(Workload& workload) {
    workload.state = Workload::State::kRunning;
    workload.started_at = at_second(now_);
  }
  void fill() {
    for (Workload& one : all_) {
      if (one.state == Workload::State::kWaiting && one.requests.get(kGpu) <= free()) start(one);
    }
  }
  // What the rules are told about the victims' queues.
  std::vector<std::size_t> ask(const Workload& starts,
                               std::span<const PreemptionCandidate> candidates) const {
    Workload seen = starts;
    if (fault_ == Fault::kEqualPriority) ++seen.priority;
    const Usage usage = count_use(tree_);
    Preemptor preemptor = make_preemptor(tree_, usage, at(tree_, starts.queue), seen);
    if (fault_ == Fault::kBeyondOwnQuota) preemptor.guarantor = preemptor.queue;
    if (fault_ != Fault::kBelowQuota || !preemptor.guarantor) {
      return find_preemptible(tree_, usage, PreemptionMode::kFull, preemptor, candidates,
                              at_second(now_));
    }
    std::vector<std::size_t> found;  // without asking their queues' quotas
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (may_preempt(tree_, PreemptionMode::kFull, preemptor, candidates[i], at_second(now_))) {
        found.push_back(i);
      }
    }
    return found;
  }
  bool preempt_once() {
    std::vector<PreemptionCandidate> candidates;
    for (const Workload& one : all_) candidates.push_back({{&one}});
    sort_by_cost(candidates);
    for (Workload& starts : all_) {
      if (starts.state != Workload::State::kWaiting) continue;
      const auto preemptible = ask(starts, candidates);
      const std::int64_t room = free();
      const auto found = search_victims(
          preemptible,
          [&](std::span<const std::size_t> victims) -> std::optional<std::vector<std::size_t>> {
            std::int64_t sum = room;
            for (const std::size_t i : victims) sum += candidates[i].first().requests.get(kGpu);
            if (sum < starts.requests.get(kGpu)) return std::nullopt;
            return std::vector<std::size_t>(victims.begin(), victims.end());
          },
          1'000);
      if (found.victims.empty()) continue;
      end(starts, found.victims, candidates);
      return true;
    }
    return false;
  }
  void end(Workload& starts, std::span<const std::size_t> victims,
           std::span<const PreemptionCandidate> candidates) {
    for (const std::size_t i : victims) {
      Workload& victim = all_[static_cast<std::size_t>(&candidates[i].first() - all_.data())];
      victim.state = Workload::State::kWaiting;
      pairs_.emplace(starts.name, victim.name);
      const std::int64_t left = count_use(tree_).rigid(at(tree_, victim.queue)).total.get(kGpu);
      const std::int64_t quota = *tree_[at(tree_, victim.queue)].quota.front().total;
      if (victim.queue != starts.queue && left < quota) is_any_below_quota_ = true;
    }
    start(starts);
  }

  std::mt19937 rng_;
  Fault fault_;
  QueueTree tree_;
  std::vector<Workload> all_;
  std::int64_t now_ = kNow;
  std::set<std::pair<std::string, std::string>> pairs_;
  bool is_any_below_quota_ = false;
};

struct Found {
  std::size_t preemptions = 0;
  int turned = 0;
  int unsettled = 0;
  int below_quota = 0;
};
Found look(Fault fault, const testing::Seeds& seeds) {
  Found found;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    INFO("NERVEX_SIM_SEED=" << seed);
    World world(seed, fault);
    const bool has_settled = world.settle().has_value();
    if (fault == Fault::kNone) {
      CHECK(has_settled);
      CHECK_FALSE(world.has_turned());
      CHECK_FALSE(world.is_any_below_quota());
    }
    found.preemptions += world.preemptions();
    found.turned += world.has_turned() ? 1 : 0;
    found.unsettled += has_settled ? 0 : 1;
    found.below_quota += world.is_any_below_quota() ? 1 : 0;
  }
  return found;
}

TEST_CASE("no two workloads preempt each other in turn, and preemption settles",
          "[queue][preemption][property]") {
  CHECK(look(Fault::kNone, testing::seeds_to_try(1, 500)).preemptions > 0);
}

TEST_CASE("faulty rules of preemption are caught", "[queue][preemption][property]") {
  const testing::Seeds seeds{1, 100, false};
  CHECK(look(Fault::kEqualPriority, seeds).unsettled > 0);
  CHECK(look(Fault::kBelowQuota, seeds).below_quota > 0);
  CHECK(look(Fault::kBelowQuota, seeds).turned > 0);
  CHECK(look(Fault::kBeyondOwnQuota, seeds).turned > 0);
}

// -- the rate

TEST_CASE("preemptions count for ten minutes", "[queue][preemption]") {
  std::vector<SysTime> times{at_second(0), at_second(1), at_second(600)};
  forget_old_preemptions(times, at_second(601));
  CHECK(times == std::vector<SysTime>{at_second(600)});
}

}  // namespace
}  // namespace nervex::queue
