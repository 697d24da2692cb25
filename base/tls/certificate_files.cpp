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
                     "; a certificate and its key are needed (--tls-cert-file, --tls-key-file): "
                     "mount the Secret that holds them, or issue them first"};
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { keep_loading(stop); });
  return ok();
}

void CertificateFiles::keep_loading(const std::stop_token& stop) {
  while (!sleep_unless_stopped(files_.poll, stop)) {
    (void)load();  // has been logged, and problem() tells
    log_when_unusable();
  }
}

// Nothing changed but the time.
void CertificateFiles::log_when_unusable() {
  const std::string reason = not_ready();
  if (reason != last_reason_ && !reason.empty()) log_error(reason, {});
  last_reason_ = reason;
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

// The files may be swapped between reading one and the next: what is read twice alike belongs
// together.
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
  if (seen_ && read() == *seen_) return last_load_;
  seen_ = read_settled();
  last_load_ = use(*seen_);
  const bool first = current() == nullptr;
  if (!last_load_ && !first) {
    log_warn("the certificate in use is kept", {{"error", last_load_.error().message}});
  } else if (last_load_) {
    log_info("certificate loaded",
             {{"file", files_.cert_file}, {"expires", to_rfc3339(*expires())}});
  }
  const MutexLock lock(mutex_);
  not_replaced_ = last_load_ ? "" : last_load_.error().message;
  return last_load_;
}

Result<Nothing> CertificateFiles::use(const Seen& seen) {
  if (const auto* error = std::get_if<Error>(&seen)) return *error;
  const auto& texts = std::get<Texts>(seen);
  const TlsIdentity identity{files_.cert_file, texts.cert, files_.key_file, texts.key};
  auto context = files_.client_ca_file.empty()
                     ? server_tls_context(identity)
                     : mutual_tls_context(identity, texts.client_ca, files_.client_ca_file);
  if (!context) return context.error();
  const auto validity = validity_of(*context);
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

std::string CertificateFiles::not_ready() const {
  const SysTime now = clock_.now();
  const MutexLock lock(mutex_);
  if (!context_) return "there is no certificate yet";
  if (now >= validity_.until) {
    return fmt::format("the certificate in {} expired at {}", files_.cert_file,
                       to_rfc3339(validity_.until));
  }
  if (now < validity_.from) {
    return fmt::format("the certificate in {} is not valid before {}", files_.cert_file,
                       to_rfc3339(validity_.from));
  }
  return "";
}

std::string CertificateFiles::problem() const {
  std::string problem = not_ready();
  const MutexLock lock(mutex_);
  if (not_replaced_.empty()) return problem;
  if (!problem.empty()) problem += "; ";
  return problem + "the certificate was not replaced: " + not_replaced_;
}

}  // namespace nervex
