// tests/base/certs.h - certificates for one test, made on the spot. No key is ever committed.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace nervex::test {

struct TestIdentity {
  std::string cert;  // PEM
  std::string key;   // PEM
};

// Seconds from now.
struct TestValidity {
  long from = -3600;
  long until = 3600;
};

// A certificate authority for one test.
class TestCa {
 public:
  TestCa();
  // An intermediate authority, with a certificate issued by `issuer`.
  explicit TestCa(const TestCa& issuer, TestValidity validity);
  ~TestCa();
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;

  const std::string& pem() const;
  // `names` as OpenSSL writes them: "DNS:server.test", "IP:127.0.0.1".
  TestIdentity issue(const std::vector<std::string>& names, TestValidity validity = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// That certificate (PEM) with an unparsable expiry time. Its signature is invalid.
std::string with_unreadable_end(const std::string& certificate);

// A directory with files, deleted at the end of the scope.
class TestFiles {
 public:
  TestFiles();
  ~TestFiles();
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;

  // Returns the file's path.
  std::string add(const std::string& name, const std::string& text) const;
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace nervex::test
