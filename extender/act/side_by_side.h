// extender/act/side_by_side.h - how are many small writes sent at the same time, but not too many?
#pragma once

#include <cstddef>
#include <functional>

namespace nervex::extender {

// Calls work(0) ... work(count - 1), each once, on this thread and a few others, and returns when
// all have ended. A handful of calls is made by this thread alone, in their order. What a call
// throws ends the others that have not begun, and is thrown on.
void do_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace nervex::extender
