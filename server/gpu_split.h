// server/gpu_split.h - over which pods are a learner's GPUs spread? Pure.
#pragma once

#include <span>
#include <vector>

namespace nervex::server {

// The largest learner: each of its GPUs has a port of its own, and schemas/nervexjob.json holds as
// many items of a split.
inline constexpr int kMaxGpusPerLearner = 1024;

// GPUs of each pod of one learner, in the order of their ranks: pods as large as most nodes are,
// then the rest. `node_gpus` are the GPUs of each node that has any, in any order; of sizes that
// are equally frequent the larger one counts. Without nodes one pod has all, as nothing better is
// known. Empty for at most one GPU: a plain learner. The split is kept for the learner's life.
std::vector<int> split_gpus(int gpus, std::span<const int> node_gpus);

}  // namespace nervex::server
