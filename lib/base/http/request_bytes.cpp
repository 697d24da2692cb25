#include "base/http/request_bytes.h"

#include <utility>

namespace nervex {
namespace {

constexpr std::size_t kMaxRequestHeadBytes = 16'384;  // request line and headers
constexpr std::size_t kFreeBodyBytes = 64 << 10;

}  // namespace

bool BodyBudget::take(std::size_t bytes, const std::string& peer) {
  const MutexLock lock(mutex_);
  const auto used = used_by_.find(peer);
  const std::size_t of_peer = (used == used_by_.end() ? 0 : used->second) + bytes;
  if (used_ + bytes > bytes_ || of_peer > most_of_one_peer_) return false;
  used_by_[peer] = of_peer;
  used_ += bytes;
  return true;
}

void BodyBudget::give_back(std::size_t bytes, const std::string& peer) {
  const MutexLock lock(mutex_);
  used_ -= bytes;
  const auto used = used_by_.find(peer);
  if ((used->second -= bytes) == 0) used_by_.erase(used);
}

bool BodyShare::add(std::size_t bytes) {
  size_ += bytes;
  if (size_ <= kFreeBodyBytes) return true;
  const std::size_t more = size_ - held_;
  if (!budget_.take(more, peer_)) return false;
  held_ = size_;
  return true;
}

void RequestBytes::begin_body() {
  connection_.drop(static_cast<std::size_t>(next_ - head_.data()));
  next_ = end_ = nullptr;
  head_ = {};
  part_ = Part::kBody;
}

std::ptrdiff_t RequestBytes::fail(int status, std::string reason) {
  if (!refused_) refused_ = Refusal{status, std::move(reason)};
  return -1;
}

std::ptrdiff_t RequestBytes::read_more(char* to, std::size_t size) {
  if (part_ == Part::kBody) return read_body(to, size);
  if (part_ == Part::kReply) return 0;
  if (!read_more_head()) return end_request_line(to);
  *to = *next_++;
  return 1;
}

bool RequestBytes::read_more_head() {
  if (refused_) return false;
  const std::size_t taken = head_.size();
  if (taken == kMaxRequestHeadBytes) {
    fail(is_in_request_line() ? 414 : 431,
         is_in_request_line() ? "the URI is too long" : "the head is too large");
    return false;
  }
  const bool has_more = connection_.buffered().size() > taken || connection_.fill();
  head_ = connection_.buffered().substr(0, kMaxRequestHeadBytes);  // its address may have changed
  next_ = end_ = head_.data() + taken;
  if (!has_more) {
    fail(408, "the request did not arrive in time");
  } else if (taken == 0 && (head_.front() < 'A' || head_.front() > 'Z')) {
    // Every method starts with a letter; a TLS handshake does not, and never ends.
    fail(400, "not an HTTP request");
  } else if (has_bare_line_feed()) {
    // The library does not accept this as the end of a line, and would wait for one.
    fail(400, "a line ends without a carriage return");
  }
  if (refused_) {
    head_ = head_.substr(0, taken);
    return false;
  }
  end_ = head_.data() + head_.size();
  return true;
}

bool RequestBytes::has_bare_line_feed() {
  while (!is_whole_) {
    const std::size_t end = head_.find('\n', checked_);
    if (end == std::string_view::npos) return false;
    if (end == 0 || head_[end - 1] != '\r') return true;
    is_whole_ = end == checked_ + 1 && checked_ > 0;
    checked_ = end + 1;
  }
  return false;
}

// Terminates a request line that has no end: the library then expects headers, finds none, and
// answers. Terminating a line among the headers could complete half a request.
std::ptrdiff_t RequestBytes::end_request_line(char* to) {
  if (!is_in_request_line() || line_end_.empty()) return -1;
  *to = line_end_.front();
  line_end_.remove_prefix(1);
  return 1;
}

std::ptrdiff_t RequestBytes::read_body(char* to, std::size_t size) {
  const std::ptrdiff_t got = connection_.read(to, size);
  if (got <= 0) {
    return connection_.failed_by() == Connection::Failure::kTimeout
               ? fail(408, "the body did not arrive in time")
               : fail(400, "the body is shorter than its content-length");
  }
  if (!share_.add(static_cast<std::size_t>(got))) {
    return fail(503, "too many large requests at once");
  }
  return got;
}

}  // namespace nervex
