// tests/support/kept_bytes.h - how much of what a cache is told stays in memory?
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <malloc.h>

#include "kube/cache/reflector.h"

namespace nervex::testing {

// Bytes that malloc has given out and not got back. A sanitizer has a separate allocator.
inline std::size_t bytes_in_use() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

// Lists `count` objects into a sink, as a reflector does. Returns the growth of the memory in use
// for each byte of the objects' text. `object` makes the JSON text of the object with that number.
inline double kept_per_byte(const kube::ReflectorSink& sink, int count,
                            const std::function<std::string(int)>& object) {
  sink.begin_list();
  (void)sink.upsert(object(0));  // buffers of the thread
  const std::size_t before = bytes_in_use();
  std::size_t told = 0;
  for (int i = 1; i <= count; ++i) {
    const std::string text = object(i);
    told += text.size();
    (void)sink.upsert(text);
  }
  sink.end_list("9");
  const std::size_t after = bytes_in_use();
  return after < before ? 0.0 : static_cast<double>(after - before) / static_cast<double>(told);
}

// `piece` so often that the result has about `bytes` bytes, separated by commas.
inline std::string repeat(const std::string& piece, std::size_t bytes) {
  std::string text = piece;
  while (text.size() < bytes) text += "," + piece;
  return text;
}

}  // namespace nervex::testing
