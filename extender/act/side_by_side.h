// extender/act/side_by_side.h - how are many small writes sent with bounded concurrency?
#pragma once

#include <cstddef>
#include <functional>

namespace nervex::extender {

// Calls work(0) ... work(count - 1) once each, on this thread and a few others, and returns when
// all have ended. A handful of calls run on this thread alone, in order. If a call throws, calls
// that have not begun are skipped and the exception is rethrown.
void do_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace nervex::extender
