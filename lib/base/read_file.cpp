#include "base/read_file.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace nervex {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Error cannot_read(const std::string& path, const std::string& why) {
  return {Code::kInvalid, "cannot read " + path + ": " + why};
}

}  // namespace

// Uses stdio: a folder opens like a file and only reading fails, where a stream's iterator throws.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  errno = 0;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  std::string text;
  char piece[4096];
  std::size_t got = 0;
  while (file && (got = std::fread(piece, 1, sizeof piece, file.get())) > 0) {
    text.append(piece, got);
    if (text.size() > max_bytes) return cannot_read(path, "it is too large");
  }
  if (file && std::ferror(file.get()) == 0) return text;
  return cannot_read(path, std::generic_category().message(errno));
}

}  // namespace nervex
