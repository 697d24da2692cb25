// base/openssl_ptr.h - who frees what OpenSSL made? For base/tls and for what issues certificates.
#pragma once

#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

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
inline Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// For PEM_read_...: OpenSSL would otherwise ask for the password of an encrypted key on the
// terminal.
inline int no_password(char*, int, int, void*) { return -1; }

}  // namespace nervex::openssl
