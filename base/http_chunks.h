// base/http_chunks.h - where does a chunked body end, and what is in it? Pure.
//
// As strict as base/http_head: what two readers could understand in two ways (0x2, +2, "2 x", bare
// line feeds) is refused, for a request could be smuggled in the difference (RFC 9112, 7.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/http_head.h"

namespace nervex {

class HttpChunks {
 public:
  explicit HttpChunks(std::uint64_t max_body_bytes) : max_body_bytes_(max_body_bytes) {}

  // Takes from the beginning of what has arrived, and returns how many bytes. Nothing is taken
  // after the end or a refusal. What was not taken is to be given again, with more behind it.
  std::size_t take(std::string_view bytes);

  bool is_complete() const { return state_ == State::kComplete; }
  const std::optional<HttpRefusal>& refused() const { return refused_; }
  std::string& body() { return body_; }

 private:
  enum class State { kSize, kData, kDataEnd, kTrailer, kComplete };

  std::size_t take_some(std::string_view bytes);
  std::size_t take_data(std::string_view bytes);
  std::size_t take_data_end(std::string_view bytes);
  std::size_t take_line(std::string_view bytes);
  void read_size(std::string_view line);
  void read_trailer(std::string_view line);
  std::size_t refuse(int status, std::string reason);

  const std::uint64_t max_body_bytes_;
  State state_ = State::kSize;
  std::size_t left_in_chunk_ = 0;
  std::size_t extra_bytes_ = 0;  // of extensions and trailers, which nobody reads
  std::string body_;
  std::optional<HttpRefusal> refused_;
};

}  // namespace nervex
