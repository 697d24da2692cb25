// base/tls/openssl_ptr.h - how are OpenSSL's objects freed, and its times read? For base/tls/tls
// and for code that issues certificates.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/clock.h"

namespace nervex::openssl {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

// Reads from `text`, which must outlive it.
inline Bio make_reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// For PEM_read_...: otherwise OpenSSL would ask for an encrypted key's password on the terminal.
inline int no_password(char*, int, int, void*) { return -1; }

// Empty if the field is not a valid time.
inline std::optional<SysTime> parse_asn1_time(const ASN1_TIME* field) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(field, &parts) != 1) return std::nullopt;
  return SysTime(std::chrono::seconds(timegm(&parts)));
}

}  // namespace nervex::openssl
