// server/decide/merge.h - which requests of a job can be one? Pure.
//
// Each POST is an entry of spec.requests and a gang of its own in the PodGroup, so that it starts
// whole or waits whole. Once it is placed there is nothing left to keep apart: entries of equal
// kind become one, and the controller moves their slots to one gang
// (controller/decide/pod_group.h). A slot keeps its role, ordinal and incarnation, so names and
// pods stay what they are. An entry whose pods are still to be created stays: if one is refused,
// the gang is taken back by the entry's id.
#pragma once

#include <cstddef>

#include "job/types.h"
#include "server/decide/units.h"

namespace nervex::server {

// Entries are merged when there are so many, not at once: below, each POST stays a gang that people
// find by its id; above, one write of the PodGroup moves the slots of many requests.
inline constexpr std::size_t kMergeAbove = 100;

// Merges the entries of the attempt that are placed into the oldest one of their kind: equal role,
// resources and GPU split. Placed is one whose replicas have each ended, or have their pods, and
// places in gangs that the PodGroup says are committed and whole. Nothing without a PodGroup.
// `requests` is what becomes of the view's. Cost: units + placements + pods, each with log.
void merge_placed(const JobView& view, job::Requests& requests);

// How many entries there are at least, if all were placed.
std::size_t count_kinds(const job::Requests& requests);

}  // namespace nervex::server
