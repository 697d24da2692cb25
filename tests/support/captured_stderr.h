// tests/support/captured_stderr.h - what does this process write to stderr, such as its log?
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace nervex::testing {

// Redirects this process's stderr to a file during its lifetime.
class CapturedStderr {
 public:
  CapturedStderr() : file_(std::tmpfile()), saved_(dup(STDERR_FILENO)) {
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~CapturedStderr() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    fclose(file_);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  std::vector<std::string> lines() const {
    std::vector<std::string> lines(1);
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
      if (c == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += static_cast<char>(c);
      }
    }
    lines.pop_back();  // what follows the last newline
    return lines;
  }
  std::vector<std::string> lines_with(std::string_view text) const {
    std::vector<std::string> found = lines();
    std::erase_if(found, [&](const auto& line) { return line.find(text) == line.npos; });
    return found;
  }

 private:
  std::FILE* file_;
  int saved_;
};

}  // namespace nervex::testing
