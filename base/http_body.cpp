#include "base/http_body.h"

#include <algorithm>
#include <charconv>

#include "base/http_chunks.h"

namespace nervex {

namespace {

using Body = std::variant<std::string, HttpRefusal>;

constexpr std::size_t kFreeBytes = 64 << 10;
constexpr std::size_t kStepBytes = 64 << 10;

const HttpRefusal kNoMemory{503, "too many large requests at once"};

// Why reading ended before the body did.
HttpRefusal cut_short(const Connection& connection) {
  return connection.failed_by() == Connection::Failure::kTimeout
             ? HttpRefusal{408, "the body did not arrive"}
             : HttpRefusal{400, "the body ended before its time"};
}

Body read_sized(Connection& connection, std::size_t length, BodyShare& share) {
  std::string body;
  while (body.size() < length) {
    const std::size_t had = body.size();
    const std::size_t step = std::min(length - had, kStepBytes);
    if (!share.grow_to(had + step)) return kNoMemory;
    body.resize(had + step);
    const std::ptrdiff_t got = connection.read(body.data() + had, step);
    if (got <= 0) return cut_short(connection);
    body.resize(had + static_cast<std::size_t>(got));
  }
  return body;
}

Body read_chunked(Connection& connection, std::uint64_t max_body_bytes, BodyShare& share) {
  HttpChunks chunks(max_body_bytes);
  for (;;) {
    connection.drop(chunks.take(connection.buffered()));
    if (chunks.refused()) return *chunks.refused();
    if (chunks.is_complete()) return std::move(chunks.body());
    if (!share.grow_to(chunks.body().size())) return kNoMemory;
    if (!connection.fill()) return cut_short(connection);
  }
}

// The gate has seen that it is a number within limits.
std::size_t length_of(const HttpHead& head) {
  const std::string_view text = head.find("content-length").value_or("0");
  std::size_t length = 0;
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

}  // namespace

bool BodyShare::grow_to(std::size_t bytes) {
  if (bytes <= kFreeBytes || bytes <= held_) return true;
  const std::size_t more = bytes - held_;
  if (budget_.used_.fetch_add(more) + more > budget_.bytes_) {
    budget_.used_ -= more;
    return false;
  }
  held_ = bytes;
  return true;
}

Body read_http_body(Connection& connection, const HttpHead& head, const HttpHeadLimits& limits,
                    BodyShare& share) {
  if (head.find("transfer-encoding")) {
    return read_chunked(connection, limits.max_body_bytes, share);
  }
  return read_sized(connection, length_of(head), share);
}

}  // namespace nervex
