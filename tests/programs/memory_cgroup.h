// tests/programs/memory_cgroup.h - a memory cgroup for one program, as a container has it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace nervex::testing {

// Version 1 or 2 of the kernel's interface, as available. Removed at the end; its processes must
// have ended by then.
class MemoryCgroup {
 public:
  // Null if this process may not create one: `why_not` says why.
  static std::unique_ptr<MemoryCgroup> make(std::size_t limit_bytes, std::string& why_not);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  // A process that writes its id there becomes a member.
  std::string processes_file() const { return folder_ + "/cgroup.procs"; }
  // How often the kernel killed a process because memory ran out.
  std::size_t kills() const;

 private:
  MemoryCgroup(std::string folder, bool is_v2) : folder_(std::move(folder)), is_v2_(is_v2) {}

  const std::string folder_;
  const bool is_v2_;
};

}  // namespace nervex::testing
