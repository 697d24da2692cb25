// base/malloc.h - what does glibc's malloc do with memory that was freed?
#pragma once

namespace nervex {

// From now on blocks of 64 KiB and more come from the system and go back to it when they are freed,
// and what many threads free is kept in few places. By default glibc raises that limit to the
// largest block that was ever freed, and has an arena for each of many threads: a program that held
// large bodies on many connections keeps most of their memory. Call once, before there are threads.
// No effect with another malloc.
void give_large_blocks_back();

// Gives back what is free between blocks that are in use, if that is much (16 MiB): glibc does so
// at the end of each of its areas only. Takes some milliseconds then, in which other threads may
// wait.
void give_free_memory_back();

}  // namespace nervex
