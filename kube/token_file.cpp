#include "kube/token_file.h"

#include "base/log.h"
#include "base/read_file.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kTokenAge = 60s;

std::optional<std::string> read_trimmed(const std::string& path) {
  auto read = read_file(path);
  if (!read) return std::nullopt;
  std::string text = *std::move(read);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace

Result<std::string> TokenFile::get() {
  if (auto fresh = fresh_value()) return *std::move(fresh);
  const auto text = read_trimmed(file_);  // without the lock; two threads may both read it
  if (!text) log_warn("cannot read the token file", {{"file", file_}});
  MutexLock lock(mutex_);
  if (text) value_ = *text;
  read_at_ = clock_.mono();  // also after a failure: the old token may do for another minute
  if (value_.empty()) return Error{Code::kTransient, "cannot read the token file " + file_};
  return value_;
}

void TokenFile::drop() {
  MutexLock lock(mutex_);
  read_at_.reset();
}

std::optional<std::string> TokenFile::fresh_value() {
  MutexLock lock(mutex_);
  if (value_.empty() || !read_at_ || clock_.mono() - *read_at_ >= kTokenAge) return std::nullopt;
  return value_;
}

}  // namespace nervex::kube
