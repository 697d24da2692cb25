// base/http/body.h - how does a request's body get here, where does it end, and may it? Reads from
// the connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/http/head.h"
#include "base/net/connection.h"

namespace nervex {

// What all bodies of a server that are large may hold of its memory at once: connections times the
// largest body would be more than any container has. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : bytes_(bytes) {}

 private:
  friend class BodyShare;
  const std::size_t bytes_;
  std::atomic<std::size_t> used_ = 0;
};

// One body's part of the budget, for as long as this lives. Small bodies (64 KiB) are free.
class BodyShare {
 public:
  explicit BodyShare(BodyBudget& budget) : budget_(budget) {}
  ~BodyShare() { budget_.used_ -= held_; }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // False if there is not so much left; the share is then as before.
  bool grow_to(std::size_t bytes);

 private:
  BodyBudget& budget_;
  std::size_t held_ = 0;
};

// Reads a chunked body. As strict as base/http/head.h: what two readers could understand in two
// ways (0x2, +2, "2 x", bare line feeds) is refused, for a request could be smuggled in the
// difference (RFC 9112, 7.1). Pure.
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

// Reads as many bytes as `head` says, in the time that the connection's deadline leaves. Memory is
// taken as bytes arrive, not as they are announced. Refusals: 408 it does not arrive in time, 400
// it ends too early or is framed wrongly, 413 it is too large, 503 the budget is used up.
std::variant<std::string, HttpRefusal> read_http_body(Connection& connection, const HttpHead& head,
                                                      const HttpHeadLimits& limits,
                                                      BodyShare& share);

}  // namespace nervex
