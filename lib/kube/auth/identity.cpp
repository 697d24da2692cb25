#include "kube/auth/identity.h"

#include <utility>

#include "base/log.h"
#include "base/read_file.h"

namespace nervex::kube {
// ---- credential files

namespace {

using namespace std::chrono_literals;

constexpr auto kAge = 60s;
constexpr auto kTokenAge = 60s;

// Keeps `text` if there is no such file. False: the file exists but cannot be read.
bool read_into(const std::string& path, std::string& text) {
  if (path.empty()) return true;
  auto read = read_file(path);
  if (!read || read->empty()) return false;  // empty: it is being written
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

// ---- certificate authorities and certificates

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
  if (must_tell) log_warn("cannot read a file, keeping its last content", {{"file", unreadable}});
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
  read_at_ = clock_.mono();  // also after a failure: the old token may work for another minute
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

Identity::Identity(const ConnectionConfig& config, HttpClient& http, const Clock& clock)
    : fixed_token_(config.token),
      has_fixed_cert_(!config.client_cert.empty()),
      http_(http),
      files_(config, clock),
      credentials_{config.ca, config.client_cert, config.client_key} {
  if (!config.token_file.empty()) token_file_.emplace(config.token_file, clock);
  const bool is_complete = has_fixed_cert_ || token_file_ || !fixed_token_.empty();
  if (config.exec && !is_complete) {
    exec_.emplace(
        [plugin = *config.exec, &http] { return run_exec_plugin(plugin, http.call_limit()); },
        clock);
  }
}

Result<Identity::Presented> Identity::present() {
  adopt_files();
  if (token_file_) {
    auto token = token_file_->get();
    if (!token) return token.error();
    return Presented{*std::move(token), 0};
  }
  if (!exec_) return Presented{fixed_token_, 0};
  auto issued = exec_->get();
  if (!issued) return issued.error();
  if (auto adopted = adopt(*issued); !adopted) {
    exec_->drop(issued->number);
    return Error{Code::kTransient, "credential plugin: " + adopted.error().message};
  }
  return Presented{std::move(issued->credential.token), issued->number};
}

bool Identity::refused(const Presented& shown) {
  files_.look_soon();
  if (token_file_) token_file_->drop();
  if (exec_) exec_->drop(shown.number);
  return adopt_files() || token_file_ || exec_;
}

bool Identity::failed(const Error& error) {
  files_.look_soon();
  return error.code == Code::kUnauthorized && adopt_files();
}

// Unusable files change nothing: a file may be half written, or the other file of a pair may be
// late. Reported once, because the files do not count as changed again.
bool Identity::adopt_files() {
  const auto changed = files_.changed();
  if (!changed) return false;
  Result<Nothing> applied = ok();
  {
    const MutexLock lock(mutex_);
    HttpCredentials wanted = credentials_;
    wanted.ca = changed->ca;
    if (has_fixed_cert_) {
      wanted.client_cert = changed->client_cert;
      wanted.client_key = changed->client_key;
    }
    applied = apply(wanted);
  }
  if (applied) {
    log_info("certificate files changed, new connections use them");
  } else {
    log_warn("changed certificate files cannot be used, keeping the old ones",
             {{"error", applied.error().message}});
  }
  return applied.has_value();
}

Result<Nothing> Identity::adopt(const ExecLogin::Issued& issued) {
  const MutexLock lock(mutex_);
  if (issued.number <= adopted_) return ok();
  HttpCredentials wanted = credentials_;
  wanted.client_cert = issued.credential.client_cert;
  wanted.client_key = issued.credential.client_key;
  // A change of only the token needs no new connections.
  const bool is_same_cert = wanted.client_cert == credentials_.client_cert &&
                            wanted.client_key == credentials_.client_key;
  if (!is_same_cert) {
    if (auto applied = apply(wanted); !applied) return applied;
  }
  adopted_ = issued.number;
  return ok();
}

Result<Nothing> Identity::apply(const HttpCredentials& wanted) {
  auto set = http_.set_credentials(wanted);
  if (set) credentials_ = wanted;
  return set;
}

}  // namespace nervex::kube
