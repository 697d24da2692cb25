// Random trees and workloads: the promises of the order.
#include "queue/backlog.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <map>
#include <random>
#include <set>

#include "queue/order.h"
#include "tests/queue/toy_cluster.h"
#include "tests/support/seeds.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::a_tree;
using testing::at;
using testing::below;
using testing::kGpu;
using testing::queued;
using testing::run_cycle;
using testing::used_gpus;
using testing::with_weight;

struct Case {
  QueueTree tree;
  Usage usage;
  std::int64_t gpus = 0;
  std::vector<Workload> waiting;
};

std::string queue_name(unsigned number) { return "q" + std::to_string(number); }

Case random_case(std::mt19937& rng) {
  std::vector<Queue> queues;
  const unsigned count = below(rng, 8);
  for (unsigned i = 0; i < count; ++i) {
    const bool is_part = i > 0 && below(rng, 2) == 0;
    auto queue = a_queue(queue_name(i), is_part ? queue_name(below(rng, i)) : "");
    queue.weight = 1 + below(rng, 3);
    if (below(rng, 2) == 0) queue.quota = {{kGpu, below(rng, 12), {}}};
    if (below(rng, 4) == 0) queue.limit = {{kGpu, below(rng, 20), {}}};
    queue.fair_users = below(rng, 3) == 0;
    if (below(rng, 5) == 0) queue.order = Queue::Order::kFifo;
    queues.push_back(queue);
  }
  Case out{a_tree(queues), Usage(a_tree(queues)), 0, {}};
  const auto any_workload = [&](const std::string& prefix, unsigned i) {
    const unsigned queue = below(rng, count + 1);
    auto workload = queued(queue == count ? "" : queue_name(queue), prefix + std::to_string(i),
                           1 + below(rng, 5), below(rng, 20), static_cast<int>(below(rng, 3)));
    workload.user = below(rng, 2) == 0 ? "ann" : "bob";
    workload.is_elastic = below(rng, 8) == 0;
    return workload;
  };
  const unsigned running_count = below(rng, 6);
  for (unsigned i = 0; i < running_count; ++i) {
    const auto running = any_workload("running", i);
    out.usage.add(out.tree, at(out.tree, running.queue), running);
    out.gpus += running.requests.get(kGpu);
  }
  out.gpus += below(rng, 30);
  const unsigned waiting_count = 5 + below(rng, 25);
  for (unsigned i = 0; i < waiting_count; ++i) out.waiting.push_back(any_workload("w", i));
  return out;
}

// A cycle by the definition: looks at all queues again for each step. No heaps, nothing kept.
class Reference {
 public:
  explicit Reference(const Case& c) : tree_(c.tree), usage_(c.usage), capacity_{{kGpu, c.gpus}} {
    std::vector<std::vector<const Workload*>> waiting(tree_.size());
    for (const Workload& workload : c.waiting) {
      waiting[at(tree_, workload.queue)].push_back(&workload);
    }
    for (QueueIndex queue = 0; queue < tree_.size(); ++queue) {
      lines_.emplace_back(tree_[queue], capacity_, usage_.users(queue), waiting[queue]);
    }
  }

  std::vector<const Workload*> place_all(std::int64_t free) {
    std::vector<const Workload*> placed;
    while (const Workload* workload = choose(kRoot).workload) {
      const QueueIndex queue = at(tree_, workload->queue);
      const std::int64_t need = workload->requests.get(kGpu);
      if (need > free || find_inadmissible(tree_, usage_, queue, *workload)) {
        lines_[queue].skip();
        continue;
      }
      free -= need;
      usage_.add(tree_, queue, *workload);
      lines_[queue].skip();
      lines_[queue].charge(*workload);
      placed.push_back(workload);
    }
    return placed;
  }

  const Usage& usage() const { return usage_; }

 private:
  struct Choice {
    const Workload* workload = nullptr;
    bool is_guaranteed = false;
  };

  Choice choose(QueueIndex queue) const {
    Choice best{lines_[queue].head(), false};
    auto best_key = key(best, dominant_share(usage_.own(queue), capacity_), false);
    for (const QueueIndex child : tree_.children(queue)) {
      Choice choice = choose(child);
      if (choice.workload == nullptr) continue;
      choice.is_guaranteed =
          choice.is_guaranteed || fits_quota(tree_, usage_, child, *choice.workload);
      const auto share = choice.is_guaranteed ? used_quota(tree_, usage_, child)
                                              : borrowed_share(tree_, usage_, child, capacity_);
      const auto child_key =
          key(choice, share, has_quota_left(tree_, usage_, child, *choice.workload));
      if (best.workload != nullptr && !is_before(child_key, best_key)) continue;
      best = choice;
      best_key = child_key;
    }
    return best;
  }

  struct Key {
    int phase;
    Fraction share;
    bool has_none_left;
    const Workload* workload;
  };
  static Key key(const Choice& choice, Fraction share, bool has_left) {
    if (choice.workload == nullptr) return {};
    const int phase = choice.is_guaranteed ? 0 : choice.workload->is_elastic ? 2 : 1;
    return {phase, share, !has_left, choice.workload};
  }
  static bool is_before(const Key& a, const Key& b) {
    if (a.phase != b.phase) return a.phase < b.phase;
    if (a.share != b.share) return a.share < b.share;
    if (a.has_none_left != b.has_none_left) return b.has_none_left;
    const auto order = rank(*a.workload) <=> rank(*b.workload);
    return order != 0 ? order < 0 : a.workload->id < b.workload->id;
  }

  const QueueTree& tree_;
  Usage usage_;
  kube::Resources capacity_;
  std::vector<Line> lines_;
};

constexpr unsigned kSeeds = 400;

std::vector<std::string> ids(const std::vector<const Workload*>& workloads) {
  std::vector<std::string> out;
  for (const Workload* workload : workloads) out.push_back(workload->id);
  return out;
}

std::int64_t free_gpus(const Case& c) {
  return c.gpus - c.usage.rigid(kRoot).total.get(kGpu) - c.usage.elastic(kRoot).total.get(kGpu);
}

// Runs `check` for each seed; a failure names it.
template <typename Check>
void for_seeds(unsigned seeds, const Check& check) {
  const auto [first, count, is_chosen] = testing::seeds_to_try(1, seeds);
  for (unsigned seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    std::mt19937 rng(seed);
    check(rng);
  }
}

TEST_CASE("keeping bids up to date gives the same as computing all of them for each step",
          "[queue][backlog][property]") {
  for_seeds(kSeeds, [&](std::mt19937& rng) {
    const Case c = random_case(rng);
    const auto cycle = run_cycle(c.tree, c.usage, c.gpus, c.waiting);
    Reference reference(c);
    REQUIRE(ids(cycle.placed) == ids(reference.place_all(free_gpus(c))));
    REQUIRE(cycle.usage == reference.usage());
    REQUIRE(cycle.offered.size() + cycle.held.size() == c.waiting.size());
  });
}

TEST_CASE("a cycle does not depend on the order of its input", "[queue][backlog][property]") {
  for_seeds(kSeeds, [&](std::mt19937& rng) {
    const Case c = random_case(rng);
    const auto before = ids(run_cycle(c.tree, c.usage, c.gpus, c.waiting).offered);
    auto shuffled = c.waiting;
    std::shuffle(shuffled.begin(), shuffled.end(), rng);
    REQUIRE(ids(run_cycle(c.tree, c.usage, c.gpus, shuffled).offered) == before);
  });
}

TEST_CASE("no workload waits behind a later one of its queue that needs as much or more",
          "[queue][backlog][property]") {
  for_seeds(kSeeds, [&](std::mt19937& rng) {
    const Case c = random_case(rng);
    const auto cycle = run_cycle(c.tree, c.usage, c.gpus, c.waiting);
    const auto is_placed = [&](const Workload& workload) {
      return std::find(cycle.placed.begin(), cycle.placed.end(), &workload) != cycle.placed.end();
    };
    for (const Workload& waits : c.waiting) {
      if (is_placed(waits)) continue;
      for (const Workload* later : cycle.placed) {
        const bool is_behind = later->queue == waits.queue && later->priority == waits.priority &&
                               later->user == waits.user && later->is_elastic == waits.is_elastic &&
                               later->queued_since > waits.queued_since;
        if (!is_behind) continue;
        INFO(later->name << " passed " << waits.name);
        REQUIRE(later->requests.get(kGpu) < waits.requests.get(kGpu));
      }
    }
  });
}

TEST_CASE("limits are never exceeded", "[queue][backlog][property]") {
  for_seeds(kSeeds, [&](std::mt19937& rng) {
    const Case c = random_case(rng);
    const auto cycle = run_cycle(c.tree, c.usage, c.gpus, c.waiting);
    const auto use = [](const Usage& usage, QueueIndex queue) {
      return usage.rigid(queue).total.get(kGpu) + usage.elastic(queue).total.get(kGpu);
    };
    for (QueueIndex queue = 0; queue < c.tree.size(); ++queue) {
      const ResourceBound* limit = find_bound(c.tree[queue].limit, kGpu);
      if (limit == nullptr) continue;
      REQUIRE(use(cycle.usage, queue) <= std::max(*limit->total, use(c.usage, queue)));
    }
  });
}

// A team that asks for no more than its quota, among others that ask for everything.
TEST_CASE("borrowing never delays a queue within its quota", "[queue][backlog][property]") {
  for_seeds(kSeeds, [&](std::mt19937& rng) {
    const std::int64_t gpus = 16 + below(rng, 16);
    std::vector<Queue> queues;
    std::int64_t guaranteed = 0;
    const unsigned teams = 2 + below(rng, 4);
    for (unsigned i = 0; i < teams; ++i) {
      const std::int64_t quota = std::min<std::int64_t>(below(rng, 8), gpus - guaranteed);
      guaranteed += quota;
      const bool is_part = i > 1 && below(rng, 2) == 0;
      queues.push_back(testing::with_quota(
          with_weight(a_queue(queue_name(i), is_part ? queue_name(1 + below(rng, i - 1)) : ""),
                      1 + below(rng, 3)),
          quota));
    }
    const auto tree = a_tree(queues);
    // The first asks for its quota exactly, the others for more, since earlier and of higher
    // priority. Nothing runs yet.
    std::vector<Workload> waiting;
    std::int64_t left = queues[0].quota[0].total.value_or(0);
    for (int i = 0; left > 0; ++i) {
      const std::int64_t need = std::min<std::int64_t>(left, 1 + below(rng, 3));
      waiting.push_back(queued("q0", "q0-" + std::to_string(i), need, 100));
      left -= need;
    }
    for (unsigned i = 1; i < teams; ++i) {
      for (int n = 0; n < 40; ++n) {
        waiting.push_back(queued(queue_name(i), queue_name(i) + "-" + std::to_string(n),
                                 1 + below(rng, 4), n, 9));
      }
    }
    const auto cycle = run_cycle(tree, Usage(tree), gpus, waiting);
    for (const Workload& workload : waiting) {
      if (workload.queue != "q0") continue;
      INFO(workload.name);
      REQUIRE(std::find(cycle.placed.begin(), cycle.placed.end(), &workload) != cycle.placed.end());
    }
  });
}

// Jobs of one GPU that need a certain class. All queues want more than they are guaranteed.
TEST_CASE("each queue gets its quota of every node class", "[queue][backlog][property]") {
  for_seeds(kSeeds, [&](std::mt19937& rng) {
    const std::vector<std::string> classes{"a100", "h100", "v100"};
    std::map<std::string, std::int64_t> free;
    std::vector<Queue> queues;
    std::map<std::pair<std::string, std::string>, std::int64_t> guaranteed, wanted, used;
    std::vector<Workload> waiting;
    const unsigned teams = 2 + below(rng, 4);
    for (unsigned i = 0; i < teams; ++i) {
      std::vector<ResourceBound::ClassAmount> amounts;
      for (const std::string& node_class : classes) {
        const std::int64_t amount = below(rng, 5);
        free[node_class] += amount;  // no more: what is borrowed is missing elsewhere
        amounts.push_back({node_class, amount});
        guaranteed[{queue_name(i), node_class}] = amount;
      }
      queues.push_back(testing::with_quota(a_queue(queue_name(i)), amounts));
      const unsigned jobs = below(rng, 20);
      for (unsigned job = 0; job < jobs; ++job) {
        waiting.push_back(
            queued(queue_name(i), std::to_string(job), 1, below(rng, 50), below(rng, 2) == 0));
        waiting.back().id = queue_name(i) + "/" + std::to_string(job);
        waiting.back().user = classes[below(rng, 3)];  // the class that it needs
        ++wanted[{queue_name(i), waiting.back().user}];
      }
    }
    const auto tree = a_tree(queues);
    const kube::Resources capacity{{kGpu, 100}};
    Backlog backlog(tree, capacity, Usage(tree), waiting);
    while (const auto offer = backlog.next()) {
      const std::string& node_class = offer->workload->user;
      if (free[node_class] == 0 || offer->caps.find(kGpu, node_class).value_or(1) == 0) {
        backlog.skip();
        continue;
      }
      --free[node_class];
      ++used[{offer->workload->queue, node_class}];
      backlog.place({{node_class, {{kGpu, 1}}}});
    }
    for (const auto& [key, amount] : guaranteed) {
      INFO(key.first << " on " << key.second);
      REQUIRE(used[key] >= std::min(amount, wanted[key]));
    }
  });
}

// Jobs of random sizes and run times come and end; all queues always have more of them.
TEST_CASE("under backlog queues get shares within a tenth of their weights",
          "[queue][backlog][property][sim]") {
  for_seeds(20, [&](std::mt19937& rng) {
    std::vector<Queue> queues;
    std::int64_t weights = 0;
    for (unsigned i = 0; i < 4; ++i) {
      queues.push_back(with_weight(a_queue(queue_name(i)), 1 + below(rng, 4)));
      weights += queues.back().weight;
    }
    const auto tree = a_tree(queues);
    constexpr std::int64_t kGpus = 256;
    Usage usage(tree);
    std::vector<std::pair<int, Workload>> running;  // with its end
    std::vector<Workload> waiting;
    std::map<std::string, std::int64_t> served;  // GPU time
    int submitted = 0;
    constexpr int kSteps = 400;
    for (int now = 0; now < kSteps; ++now) {
      std::erase_if(running, [&](const auto& each) {
        if (each.first > now) return false;
        usage.remove(tree, at(tree, each.second.queue), each.second);
        return true;
      });
      for (unsigned i = 0; i < 4; ++i) {
        const auto of_queue = std::count_if(
            waiting.begin(), waiting.end(),
            [&](const Workload& workload) { return workload.queue == queue_name(i); });
        for (auto n = of_queue; n < 80; ++n) {
          waiting.push_back(
              queued(queue_name(i), "w" + std::to_string(submitted++), 1 + below(rng, 4), now));
        }
      }
      const auto cycle = run_cycle(tree, usage, kGpus, waiting);
      usage = cycle.usage;
      std::set<std::string> placed;
      for (const Workload* workload : cycle.placed) {
        running.emplace_back(now + 1 + static_cast<int>(below(rng, 10)), *workload);
        placed.insert(workload->id);
      }
      std::erase_if(waiting, [&](const Workload& each) { return placed.contains(each.id); });
      for (const Queue& queue : queues) served[queue.name] += used_gpus(tree, usage, queue.name);
    }
    for (const Queue& queue : queues) {
      const std::int64_t fair = kGpus * kSteps * queue.weight / weights;
      INFO(queue.name << " of weight " << queue.weight << ": " << served[queue.name] << ", fair "
                      << fair);
      CHECK(std::abs(served[queue.name] - fair) * 10 <= fair);
    }
  });
}

}  // namespace
}  // namespace nervex::queue
