// bench/reconcile_bench.cpp - how long does the controller decide about a job of thousands of pods?
//
// A round must cost time in proportion to the pods: compare the columns of 1,000 and 5,000. Nothing
// is written; what a write costs is the API server's.
#include <benchmark/benchmark.h>

#include "tests/controller/large_job.h"

namespace nervex::controller {
namespace {

void decide(benchmark::State& state, const Observed& seen) {
  for (auto _ : state) {
    const Decision decision = reconcile(seen);
    benchmark::DoNotOptimize(decision);
  }
  state.counters["pods"] = static_cast<double>(state.range(0));
}

void all_pods_run(benchmark::State& state) {
  testing::LargeJob job(static_cast<int>(state.range(0)));
  job.start();
  decide(state, job.seen);
}
BENCHMARK(all_pods_run)->Arg(1'000)->Arg(5'000)->Unit(benchmark::kMillisecond);

void one_pod_has_failed(benchmark::State& state) {
  testing::LargeJob job(static_cast<int>(state.range(0)));
  job.start();
  job.fail_one();
  decide(state, job.seen);
}
BENCHMARK(one_pod_has_failed)->Arg(1'000)->Arg(5'000)->Unit(benchmark::kMillisecond);

void all_pods_are_to_be_created(benchmark::State& state) {
  const testing::LargeJob job(static_cast<int>(state.range(0)));
  decide(state, job.seen);
}
BENCHMARK(all_pods_are_to_be_created)->Arg(1'000)->Arg(5'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nervex::controller
