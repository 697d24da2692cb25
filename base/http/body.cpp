#include "base/http/body.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace nervex {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
// Callers have no use for extensions and trailers, and we none for what they say.
constexpr std::size_t kMaxExtraBytes = 4096;
constexpr std::size_t kMaxSizeDigits = 8;

// The chunk's size; nothing if the line does not begin with one in the only form there is: 1 to 8
// hex digits.
std::optional<std::size_t> size_in(std::string_view line) {
  const std::string_view digits = line.substr(0, line.find(';'));
  std::size_t size = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, size, 16);  // takes no '+' and no "0x"
  const bool is_size = parsed.ec == std::errc() && parsed.ptr == end;
  if (!is_size || digits.size() > kMaxSizeDigits) return std::nullopt;
  return size;
}

}  // namespace

std::size_t HttpChunks::refuse(int status, std::string reason) {
  refused_ = HttpRefusal{status, std::move(reason)};
  return 0;
}

std::size_t HttpChunks::take(std::string_view bytes) {
  std::size_t taken = 0;
  while (!refused_ && !is_complete()) {
    const std::size_t more = take_some(bytes.substr(taken));
    if (more == 0) break;
    taken += more;
  }
  return taken;
}

std::size_t HttpChunks::take_some(std::string_view bytes) {
  if (state_ == State::kData) return take_data(bytes);
  return state_ == State::kDataEnd ? take_data_end(bytes) : take_line(bytes);
}

std::size_t HttpChunks::take_data(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), left_in_chunk_);
  body_.append(bytes.substr(0, size));
  left_in_chunk_ -= size;
  if (left_in_chunk_ == 0) state_ = State::kDataEnd;
  return size;
}

std::size_t HttpChunks::take_data_end(std::string_view bytes) {
  if (!kLineEnd.starts_with(bytes.substr(0, kLineEnd.size()))) {
    return refuse(400, "a chunk does not end where its size says");
  }
  if (bytes.size() < kLineEnd.size()) return 0;
  state_ = State::kSize;
  return kLineEnd.size();
}

std::size_t HttpChunks::take_line(std::string_view bytes) {
  const std::size_t end = bytes.find(kLineEnd);
  const std::size_t size = std::min(end, bytes.size());
  if (extra_bytes_ + size > kMaxExtraBytes + kMaxSizeDigits) {
    return refuse(400, "the chunks' extensions and trailers are too long");
  }
  if (end == std::string_view::npos) return 0;
  const std::string_view line = bytes.substr(0, end);
  if (!is_http_value(line)) return refuse(400, "a chunk holds control characters in its line");
  if (state_ == State::kSize) {
    read_size(line);
  } else {
    read_trailer(line);
  }
  return refused_ ? 0 : end + kLineEnd.size();
}

void HttpChunks::read_size(std::string_view line) {
  const auto size = size_in(line);
  if (!size) {
    refuse(400, "a chunk's size is not a number");
  } else if (*size > max_body_bytes_ - body_.size()) {
    refuse(413, fmt::format("the body is larger than {} bytes", max_body_bytes_));
  } else {
    extra_bytes_ += line.size() - std::min(line.find(';'), line.size());
    left_in_chunk_ = *size;
    state_ = *size == 0 ? State::kTrailer : State::kData;
  }
}

void HttpChunks::read_trailer(std::string_view line) {
  extra_bytes_ += line.size() + kLineEnd.size();
  if (line.empty()) {
    state_ = State::kComplete;
  } else if (!is_http_token(line.substr(0, line.find(':'))) ||
             line.find(':') == std::string_view::npos) {
    refuse(400, "a trailer is malformed");
  }
}

// -- reading from the connection

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
