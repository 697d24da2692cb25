#include "certs/x509.h"

#include <array>
#include <memory>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/tls/openssl_ptr.h"

namespace nervex::certs {
namespace {

using namespace openssl;  // NOLINT: its few names are used throughout
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;
using Octets = std::unique_ptr<ASN1_OCTET_STRING, Freer<ASN1_OCTET_STRING_free>>;

constexpr std::size_t kSerialBytes = 16;
constexpr std::size_t kMaxCommonName = 64;  // RFC 5280, appendix A.1: ub-common-name

// Null if there is none. Drops OpenSSL's errors: the caller reports its own.
Certificate parse_certificate(BIO* bio) {
  Certificate read(PEM_read_bio_X509(bio, nullptr, no_password, nullptr));
  ERR_clear_error();
  return read;
}

Certificate parse_certificate(const std::string& pem) {
  return parse_certificate(make_reader(pem).get());
}

Key parse_key(const std::string& pem) {
  Key read(PEM_read_bio_PrivateKey(make_reader(pem).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  return read;
}

template <typename Write>
std::string to_pem(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  NERVEX_CHECK(write(bio.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string to_pem(X509* certificate) {
  return to_pem([certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string to_pem(EVP_PKEY* key) {
  return to_pem([key](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Key new_key() {
  Key key(EVP_EC_gen("P-256"));
  NERVEX_CHECK(key);
  return key;
}

// Random, so that certificates of one authority never share it; positive, as RFC 5280 requires.
void set_serial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  NERVEX_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7fU) | 0x40U);
  const std::unique_ptr<BIGNUM, Freer<BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  NERVEX_CHECK(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr);
}

void set_time(ASN1_TIME* field, SysTime time) {
  NERVEX_CHECK(ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr);
}

// Everything but issuer, extensions and signature.
Certificate new_certificate(const std::string& common_name, EVP_PKEY* key,
                            const Validity& validity) {
  Certificate certificate(X509_new());
  NERVEX_CHECK(certificate);
  X509_set_version(certificate.get(), X509_VERSION_3);
  set_serial(certificate.get());
  set_time(X509_getm_notBefore(certificate.get()), validity.from);
  set_time(X509_getm_notAfter(certificate.get()), validity.until);
  NERVEX_CHECK(X509_set_pubkey(certificate.get(), key) == 1);
  const std::string cut = common_name.substr(0, kMaxCommonName);
  const auto* name = reinterpret_cast<const unsigned char*>(cut.c_str());
  NERVEX_CHECK(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN",
                                          MBSTRING_UTF8, name, -1, -1, 0) == 1);
  return certificate;
}

// False if the value is not valid for that extension.
bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  const bool added = extension && X509_add_ext(certificate, extension.get(), -1) == 1;
  ERR_clear_error();
  return added;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  NERVEX_CHECK(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
  NERVEX_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
}

// OpenSSL parses a list: a comma would start another entry.
bool is_plain_name(const std::string& name) {
  return name.find_first_of(", \n\\") == std::string::npos &&
         (name.starts_with("DNS:") || name.starts_with("IP:")) && !name.ends_with(":");
}

Result<std::string> join_names(const std::vector<std::string>& names) {
  if (names.empty()) return Error{Code::kInvalid, "a serving certificate needs a name"};
  std::string joined;
  for (const std::string& name : names) {
    if (!is_plain_name(name)) {
      return Error{Code::kInvalid, fmt::format("{} is neither DNS:NAME nor IP:ADDRESS", name)};
    }
    joined += (joined.empty() ? "" : ",") + name;
  }
  return joined;
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const auto* bytes = ASN1_STRING_get0_data(address);
  if (ASN1_STRING_length(address) == 4) {
    return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  }
  std::string text;  // IPv6, never shortened
  for (int i = 0; i + 1 < ASN1_STRING_length(address); i += 2) {
    text += fmt::format("{}{:x}", i == 0 ? "" : ":", bytes[i] << 8 | bytes[i + 1]);
  }
  return text;
}

std::vector<std::string> subject_alt_names(const X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
      found.push_back("DNS:" + std::string(text, static_cast<std::size_t>(
                                                     ASN1_STRING_length(name->d.dNSName))));
    } else if (name->type == GEN_IPADD) {
      found.push_back("IP:" + address_text(name->d.iPAddress));
    }
  }
  return found;
}

}  // namespace

KeyPair make_authority(const std::string& common_name, const Validity& validity) {
  const Key key = new_key();
  const Certificate made = new_certificate(common_name, key.get(), validity);
  X509* self = made.get();
  const bool added =
      add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      // Distinguishes authorities with the same name, as after a rotation.
      add_extension(self, self, NID_subject_key_identifier, "hash");
  NERVEX_CHECK(added);
  sign(self, self, key.get());
  return {to_pem(self), to_pem(key.get())};
}

Result<KeyPair> issue_serving(const KeyPair& authority, const std::vector<std::string>& names,
                              const Validity& validity) {
  const Certificate issuer = parse_certificate(authority.cert);
  const Key issuer_key = parse_key(authority.key);
  if (!issuer || !issuer_key) {
    return Error{Code::kInvalid, "the authority's certificate or key cannot be read"};
  }
  const auto joined = join_names(names);
  if (!joined) return joined.error();
  const Key key = new_key();
  const std::string common_name = names.front().substr(names.front().find(':') + 1);
  const Certificate made = new_certificate(common_name, key.get(), validity);
  X509* leaf = made.get();
  if (!add_extension(leaf, issuer.get(), NID_subject_alt_name, *joined)) {
    return Error{Code::kInvalid, fmt::format("not valid names for a certificate: {}", *joined)};
  }
  const bool added =
      add_extension(leaf, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(leaf, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(leaf, issuer.get(), NID_ext_key_usage, "serverAuth") &&
      add_extension(leaf, issuer.get(), NID_subject_key_identifier, "hash");
  NERVEX_CHECK(added);
  // Omitted for a foreign authority without an identifier.
  add_extension(leaf, issuer.get(), NID_authority_key_identifier, "keyid");
  sign(leaf, issuer.get(), issuer_key.get());
  return KeyPair{to_pem(leaf), to_pem(key.get())};
}

Result<CertificateFacts> read_certificate(const std::string& pem) {
  const Certificate read = parse_certificate(pem);
  if (!read) return Error{Code::kInvalid, "not a readable PEM certificate"};
  return CertificateFacts{{parse_asn1_time(X509_get0_notBefore(read.get())).value_or(SysTime{}),
                           parse_asn1_time(X509_get0_notAfter(read.get())).value_or(SysTime{})},
                          X509_check_ca(read.get()) == 1,
                          subject_alt_names(read.get())};
}

std::string name_as_read(const std::string& name) {
  if (!name.starts_with("IP:")) return name;
  // The same parser as for issuing, so that both accept the same spellings of an address.
  const Octets address(a2i_IPADDRESS(name.c_str() + 3));
  ERR_clear_error();
  return address ? "IP:" + address_text(address.get()) : name;
}

bool key_fits(const KeyPair& pair) {
  const Certificate certificate = parse_certificate(pair.cert);
  const Key key = parse_key(pair.key);
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

bool is_signed_by(const std::string& cert, const std::string& authority) {
  const Certificate leaf = parse_certificate(cert);
  const Certificate issuer = parse_certificate(authority);
  const bool is = leaf && issuer && X509_verify(leaf.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  return is;
}

std::vector<std::string> split_bundle(const std::string& pem) {
  std::vector<std::string> found;
  const Bio bio = make_reader(pem);
  while (const Certificate one = parse_certificate(bio.get())) found.push_back(to_pem(one.get()));
  return found;
}

}  // namespace nervex::certs
