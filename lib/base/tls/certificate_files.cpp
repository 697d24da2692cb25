#include "base/tls/certificate_files.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "base/log.h"
#include "base/read_file.h"

namespace nervex {

CertificateFiles::CertificateFiles(TlsFiles files, const Clock& clock)
    : files_(std::move(files)), clock_(clock) {}

CertificateFiles::~CertificateFiles() = default;

Result<Nothing> CertificateFiles::start() {
  if (auto loaded = load(); !loaded) {
    const Error& error = loaded.error();
    return Error{error.code,
                 error.message +
                     "; TLS needs a certificate and its key (--tls-cert-file, --tls-key-file): "
                     "mount the Secret that contains them, or issue them first"};
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { keep_loading(stop); });
  return ok();
}

void CertificateFiles::keep_loading(const std::stop_token& stop) {
  while (!sleep_unless_stopped(files_.poll, stop)) {
    (void)load();  // the error is logged, and check_files() reports it
    log_when_unusable();
  }
}

// Only the time has changed.
void CertificateFiles::log_when_unusable() {
  const auto valid = check_valid();
  const std::string reason = valid ? "" : valid.error().message;
  if (reason != last_logged_ && !valid) log_error(reason, {});
  last_logged_ = reason;
}

CertificateFiles::Seen CertificateFiles::read() const {
  Texts texts;
  for (const auto& [path, text] :
       {std::pair{&files_.cert_file, &texts.cert}, std::pair{&files_.key_file, &texts.key},
        std::pair{&files_.client_ca_file, &texts.client_ca}}) {
    if (text == &texts.client_ca && path->empty()) continue;
    auto read = read_file(*path);
    if (!read) return read.error();
    *text = *std::move(read);
  }
  return texts;
}

// The files may be replaced between two reads: equal results of two reads belong together.
CertificateFiles::Seen CertificateFiles::read_settled() const {
  constexpr int kTries = 3;
  Seen seen = read();
  for (int i = 0; i < kTries; ++i) {
    Seen again = read();
    if (again == seen) break;
    seen = std::move(again);
  }
  return seen;
}

Result<Nothing> CertificateFiles::load() {
  if (seen_ && read() == *seen_) {
    const MutexLock lock(mutex_);
    return last_load_;
  }
  seen_ = read_settled();
  auto loaded = use(*seen_);
  const bool first = current() == nullptr;
  if (!loaded && !first) {
    log_warn("certificate files cannot be used, keeping the certificate in use",
             {{"error", loaded.error().message}});
  } else if (loaded) {
    log_info("certificate loaded",
             {{"file", files_.cert_file}, {"expires", to_rfc3339(*expires())}});
  }
  const MutexLock lock(mutex_);
  last_load_ = loaded;
  return loaded;
}

Result<Nothing> CertificateFiles::use(const Seen& seen) {
  if (const auto* error = std::get_if<Error>(&seen)) return *error;
  const auto& texts = std::get<Texts>(seen);
  const TlsIdentity identity{files_.cert_file, texts.cert, files_.key_file, texts.key};
  auto context = files_.client_ca_file.empty()
                     ? server_tls_context(identity)
                     : mutual_tls_context(identity, texts.client_ca, files_.client_ca_file);
  if (!context) return context.error();
  const auto validity = certificate_validity(*context);
  if (!validity) return with_context(files_.cert_file, validity.error());
  const MutexLock lock(mutex_);
  context_ = *std::move(context);
  validity_ = *validity;
  return ok();
}

TlsContext CertificateFiles::current() const {
  const MutexLock lock(mutex_);
  return context_;
}

std::optional<SysTime> CertificateFiles::expires() const {
  const MutexLock lock(mutex_);
  if (!context_) return std::nullopt;
  return validity_.until;
}

Result<Nothing> CertificateFiles::check_valid() const {
  const SysTime now = clock_.now();
  const MutexLock lock(mutex_);
  if (!context_) return Error{Code::kTransient, "no certificate is loaded yet"};
  if (now >= validity_.until) {
    return Error{Code::kTransient, fmt::format("the certificate in {} expired at {}",
                                               files_.cert_file, to_rfc3339(validity_.until))};
  }
  if (now < validity_.from) {
    return Error{Code::kTransient, fmt::format("the certificate in {} is not valid before {}",
                                               files_.cert_file, to_rfc3339(validity_.from))};
  }
  return ok();
}

Result<Nothing> CertificateFiles::check_files() const {
  auto valid = check_valid();
  const MutexLock lock(mutex_);
  if (last_load_) return valid;
  return Error{Code::kTransient,
               fmt::format("{}the certificate was not replaced: {}",
                           valid ? "" : valid.error().message + "; ", last_load_.error().message)};
}

}  // namespace nervex
