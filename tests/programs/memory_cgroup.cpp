#include "tests/programs/memory_cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

namespace nervex::testing {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  return out.good();
}

// "4:memory:/a/b" of version 1, "0::/a/b" of version 2.
std::string own_path(const std::string& controller) {
  std::istringstream lines(read_text("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == line.npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return "";
}

std::string unused_name() {
  static std::atomic<int> made = 0;
  return fmt::format("nervex-test-{}-{}", getpid(), ++made);
}

// "oom_kill 3"
std::size_t number_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key + " ");
  return at == text.npos ? 0 : std::strtoull(text.c_str() + at + key.size() + 1, nullptr, 10);
}

}  // namespace

std::unique_ptr<MemoryCgroup> MemoryCgroup::make(std::size_t limit_bytes, std::string& why_not) {
  const bool is_v2 = access(fmt::format("{}/cgroup.controllers", kRoot).c_str(), R_OK) == 0;
  const std::string parent =
      is_v2 ? kRoot + own_path("") : kRoot + ("/memory" + own_path("memory"));
  // Version 2 hands a controller down only where no process is beside the new group, or at the
  // root.
  if (is_v2) write_text(parent + "/cgroup.subtree_control", "+memory");
  const std::string folder = fmt::format("{}/{}", parent, unused_name());
  if (mkdir(folder.c_str(), 0755) != 0) {
    why_not = "cannot make a memory cgroup in " + parent;
    return nullptr;
  }
  std::unique_ptr<MemoryCgroup> made(new MemoryCgroup(folder, is_v2));
  const std::string limit = folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes");
  if (access(limit.c_str(), F_OK) != 0 || !write_text(limit, std::to_string(limit_bytes))) {
    why_not = "no limit can be set in " + folder;
    return nullptr;
  }
  return made;
}

MemoryCgroup::~MemoryCgroup() { rmdir(folder_.c_str()); }

std::size_t MemoryCgroup::kills() const {
  return number_after(read_text(folder_ + (is_v2_ ? "/memory.events" : "/memory.oom_control")),
                      "oom_kill");
}

}  // namespace nervex::testing
