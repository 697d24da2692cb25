// base/malloc.h - when does glibc's malloc return freed memory to the system?
#pragma once

#include <stop_token>

namespace nervex {

// Blocks of 64 KiB and more now come from the system and return to it when freed, and memory freed
// by many threads is kept in few arenas. By default glibc raises that limit to the largest block
// ever freed, and has an arena for each of many threads, so a program that held large bodies on
// many connections keeps most of their memory. Call once, before there are threads. No effect with
// another malloc.
void give_large_blocks_back();

// Returns free memory between used blocks if there is much (16 MiB): glibc does so only at the end
// of each area. Takes some milliseconds, during which other threads may wait.
void give_free_memory_back();
// Does that each 5 s until the stop is requested: the body of a thread.
void keep_giving_memory_back(const std::stop_token& stop);

}  // namespace nervex
