#include "tests/base/certs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/error.h"

namespace nervex::test {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key new_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

template <typename Write>
std::string to_pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  NERVEX_CHECK(write(bio.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

std::string to_pem(X509* certificate) {
  return to_pem([certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string to_pem(EVP_PKEY* key) {
  return to_pem([key](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  NERVEX_CHECK(extension != nullptr);
  NERVEX_CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Not signed yet.
Certificate new_certificate(const std::string& common_name, EVP_PKEY* key, long serial,
                            TestValidity validity = {}) {
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), validity.from);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), validity.until);
  X509_set_pubkey(certificate.get(), key);
  const auto* name = reinterpret_cast<const unsigned char*>(common_name.c_str());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8, name,
                             -1, -1, 0);
  return certificate;
}

}  // namespace

struct TestCa::Impl {
  Impl(const std::string& name, TestValidity validity)
      : certificate(new_certificate(name, key.get(), 1, validity)) {}

  // Self-signed if `issuer` is null.
  void sign(const Impl* issuer) {
    X509* self = certificate.get();
    X509* by = issuer != nullptr ? issuer->certificate.get() : self;
    X509_set_issuer_name(self, X509_get_subject_name(by));
    add_extension(self, by, NID_basic_constraints, "critical,CA:TRUE");
    // Authorities of the same name, as after a rotation, are distinguished by this.
    add_extension(self, by, NID_subject_key_identifier, "hash");
    EVP_PKEY* with = issuer != nullptr ? issuer->key.get() : key.get();
    NERVEX_CHECK(X509_sign(self, with, EVP_sha256()) > 0);
    pem = to_pem(self);
  }

  Key key = new_key();
  Certificate certificate;
  std::string pem;
};

TestCa::TestCa() : impl_(std::make_unique<Impl>("test authority", TestValidity{})) {
  impl_->sign(nullptr);
}

TestCa::TestCa(const TestCa& issuer, TestValidity validity)
    : impl_(std::make_unique<Impl>("test intermediate", validity)) {
  impl_->sign(issuer.impl_.get());
}

TestCa::~TestCa() = default;

const std::string& TestCa::pem() const { return impl_->pem; }

TestIdentity TestCa::issue(const std::vector<std::string>& names, TestValidity validity) const {
  const Key key = new_key();
  const Certificate certificate = new_certificate("test server", key.get(), 2, validity);
  X509* issuer = impl_->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ",") + name;
  add_extension(certificate.get(), issuer, NID_subject_alt_name, joined);
  add_extension(certificate.get(), issuer, NID_authority_key_identifier, "keyid:always");
  NERVEX_CHECK(X509_sign(certificate.get(), impl_->key.get(), EVP_sha256()) > 0);
  return {to_pem(certificate.get()), to_pem(key.get())};
}

std::string with_unreadable_end(const std::string& certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())), BIO_free);
  const Certificate read(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  NERVEX_CHECK(read != nullptr);
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> end(ASN1_TIME_new(), ASN1_TIME_free);
  end->type = V_ASN1_UTCTIME;
  NERVEX_CHECK(ASN1_STRING_set(end.get(), "not a time at all", -1) == 1);
  NERVEX_CHECK(X509_set1_notAfter(read.get(), end.get()) == 1);
  NERVEX_CHECK(i2d_re_X509_tbs(read.get(), nullptr) > 0);  // else the text read is written again
  return to_pem(read.get());
}

TestFiles::TestFiles() {
  std::string pattern = (std::filesystem::temp_directory_path() / "nervex-test-XXXXXX").string();
  NERVEX_CHECK(mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
}

TestFiles::~TestFiles() { std::filesystem::remove_all(directory_); }

std::string TestFiles::add(const std::string& name, const std::string& text) const {
  std::string path = directory_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace nervex::test
