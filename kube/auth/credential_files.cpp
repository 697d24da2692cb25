#include "kube/auth/credential_files.h"

#include "base/log.h"
#include "base/read_file.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kAge = 60s;
constexpr auto kTokenAge = 60s;

// Leaves `text` as it is if there is no file of that name. False: there is, but not to be read.
bool read_into(const std::string& path, std::string& text) {
  if (path.empty()) return true;
  auto read = read_file(path);
  if (!read || read->empty()) return false;  // empty: somebody is writing it just now
  text = *std::move(read);
  return true;
}

bool is_same(const HttpCredentials& a, const HttpCredentials& b) {
  return a.ca == b.ca && a.client_cert == b.client_cert && a.client_key == b.client_key;
}

std::optional<std::string> read_trimmed(const std::string& path) {
  auto read = read_file(path);
  if (!read) return std::nullopt;
  std::string text = *std::move(read);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace

// ---- authorities and certificates

CredentialFiles::CredentialFiles(const ConnectionConfig& config, const Clock& clock)
    : ca_file_(config.ca_file),
      cert_file_(config.client_cert_file),
      key_file_(config.client_key_file),
      clock_(clock),
      texts_{config.ca, config.client_cert, config.client_key},
      looked_at_(clock.mono()) {}

// True for one thread at a time, which then reads the files.
bool CredentialFiles::is_due() {
  if (ca_file_.empty() && cert_file_.empty() && key_file_.empty()) return false;
  MutexLock lock(mutex_);
  const MonoTime now = clock_.mono();
  if (looked_at_ && now - *looked_at_ < kAge) return false;
  looked_at_ = now;
  return true;
}

std::optional<HttpCredentials> CredentialFiles::changed() {
  if (!is_due()) return std::nullopt;
  HttpCredentials now;
  {
    MutexLock lock(mutex_);
    now = texts_;
  }
  std::string unreadable;
  if (!read_into(ca_file_, now.ca)) unreadable = ca_file_;
  if (!read_into(cert_file_, now.client_cert)) unreadable = cert_file_;
  if (!read_into(key_file_, now.client_key)) unreadable = key_file_;
  bool must_tell = false;
  bool has_changed = false;
  {
    MutexLock lock(mutex_);
    must_tell = !unreadable.empty() && was_readable_;
    was_readable_ = unreadable.empty();
    has_changed = !is_same(now, texts_);
    if (has_changed) texts_ = now;
  }
  if (must_tell) log_warn("cannot read a file, its last content is kept", {{"file", unreadable}});
  if (!has_changed) return std::nullopt;
  return now;
}

void CredentialFiles::look_soon() {
  MutexLock lock(mutex_);
  looked_at_.reset();
}

// ---- token

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
