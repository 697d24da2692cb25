// tests/base/cert_mirror.h - which certificate did a client present? A TLS server that returns it.
#pragma once

#include <string>

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/tls/tls.h"
#include "tests/base/certs.h"
#include "tests/base/raw_socket.h"

namespace nervex::test {

// One request per connection, one connection at a time. The reply's body is the client's
// certificate as PEM text, or "none". Accepts every certificate, and clients without one.
class CertMirror {
 public:
  explicit CertMirror(const TestIdentity& identity)
      : context_(*server_tls_context({"cert", identity.cert, "key", identity.key})),
        server_([this](RawSocket& socket) { talk(socket); }) {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  }

  std::string url() const { return "https://127.0.0.1:" + std::to_string(server_.port()); }
  int connections() const { return server_.connections(); }

 private:
  void talk(const RawSocket& socket) const {
    const TlsSession session = accepting_session(context_);
    SSL* ssl = session.get();
    if (SSL_set_fd(ssl, socket.fd()) != 1 || SSL_accept(ssl) != 1) return;
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && SSL_read(ssl, &byte, 1) == 1) head += byte;
    const std::string body = shown_certificate(ssl);
    const std::string reply =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    SSL_write(ssl, reply.data(), static_cast<int>(reply.size()));
    SSL_shutdown(ssl);
  }

  static std::string shown_certificate(SSL* ssl) {
    X509* certificate = SSL_get1_peer_certificate(ssl);
    if (certificate == nullptr) return "none";
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(memory, certificate);
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory, &text);
    std::string pem(text, static_cast<std::size_t>(size));
    BIO_free(memory);
    X509_free(certificate);
    return pem;
  }

  TlsContext context_;
  RawServer server_;
};

}  // namespace nervex::test
