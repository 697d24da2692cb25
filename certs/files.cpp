#include "certs/files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace nervex::certs {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& what, const std::string& path) {
  return Error{Code::kInvalid,
               fmt::format("{} {}: {}", what, path, std::generic_category().message(errno))};
}

// "" if the file does not exist.
Result<std::string> read(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error) && !error) return std::string();
  if (fs::is_directory(path, error)) {  // opens like a file, and then throws
    errno = EISDIR;
    return failed("read", path);
  }
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) return failed("read", path);
  return text;
}

// Writes to a new file of our own: an existing one could be readable by others, or be a link that
// leads the key elsewhere.
Result<Nothing> write_draft(const std::string& draft, const std::string& text) {
  unlink(draft.c_str());  // from a killed run; O_EXCL detects one that cannot be removed
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return failed("write", draft);
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fsync(file) == 0;
  const Error problem = written ? Error{} : failed("write", draft);
  close(file);
  if (written) return ok();
  unlink(draft.c_str());
  return problem;
}

// Writes under another name first: no reader sees half a file, and a full disk does no harm.
Result<Nothing> write(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  if (auto written = write_draft(draft, text); !written) return written;
  if (std::rename(draft.c_str(), path.c_str()) == 0) return ok();
  const Error problem = failed("write", path);
  unlink(draft.c_str());  // it may be a key, in an unexpected place
  return problem;
}

std::optional<KeyPair> make_key_pair(const std::string& cert, const std::string& key) {
  if (cert.empty() && key.empty()) return std::nullopt;
  return KeyPair{cert, key};
}

}  // namespace

Result<StoredCerts> read_folder(const std::string& folder) {
  std::string texts[4];
  const char* names[] = {"ca.crt", "ca.key", "tls.crt", "tls.key"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    auto text = read(folder + "/" + names[i]);
    if (!text) return text.error();
    texts[i] = *std::move(text);
  }
  const auto authorities = split_bundle(texts[0]);
  return StoredCerts{make_key_pair(authorities.empty() ? "" : authorities.front(), texts[1]),
                     texts[0], make_key_pair(texts[2], texts[3])};
}

Result<Nothing> write_folder(const std::string& folder, const StoredCerts& certs) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Error{Code::kInvalid, fmt::format("create folder {}: {}", folder, error.message())};
  }
  // Keys first: a reader that checks the pair waits for the certificate.
  const std::pair<const char*, const std::string&> files[] = {{"ca.key", certs.authority->key},
                                                              {"ca.crt", certs.bundle},
                                                              {"tls.key", certs.serving->key},
                                                              {"tls.crt", certs.serving->cert}};
  for (const auto& [name, text] : files) {
    if (auto written = write(folder + "/" + name, text); !written) return written;
  }
  return ok();
}

}  // namespace nervex::certs
