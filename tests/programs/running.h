// tests/programs/running.h - how do tests run one of our programs as a process?
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/base/certs.h"
#include "tests/programs/memory_cgroup.h"

namespace nervex::testing {

inline const std::vector<std::string> kPrograms{"webhook", "extender", "controller", "server"};

// Listens like an API server, and never replies.
class HungApiServer {
 public:
  HungApiServer();
  ~HungApiServer();
  HungApiServer(const HungApiServer&) = delete;
  HungApiServer& operator=(const HungApiServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int listener_ = -1;
  int port_ = 0;
};

struct Ended {
  int exit_code = -1;  // 128 + signal if a signal killed it
  std::chrono::milliseconds took{0};
};

class RunningProgram {
 public:
  // `program` is one of kPrograms. Returns when it serves. Runs in `cgroup` unless that is null;
  // `cgroup` must outlive it.
  RunningProgram(const std::string& program, const std::string& api_server,
                 const std::vector<std::string>& more_flags = {},
                 const MemoryCgroup* cgroup = nullptr);
  ~RunningProgram();  // kills it if it still runs
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  int port() const { return port_; }  // 0: it does not listen for requests
  int metrics_port() const { return metrics_port_; }
  bool uses_tls() const;
  const std::string& ca() const { return ca_; }  // issuer of its certificate; with TLS
  std::size_t peak_memory_bytes() const;         // resident, since it was started
  std::size_t memory_bytes() const;              // resident, now
  std::size_t threads() const;
  std::string log() const;

  void signal(int number) const;
  // nullopt if it has not ended after `limit`, counted from this call.
  std::optional<Ended> wait(std::chrono::milliseconds limit);

 private:
  std::size_t process_status(const std::string& key) const;

  const std::string program_;
  test::TestFiles files_;
  std::string ca_;
  pid_t pid_ = 0;
  int port_ = 0;
  int metrics_port_ = 0;
};

// Runs it to its end with only these flags.
struct Output {
  int exit_code = -1;
  std::string text;  // stdout and stderr
};
Output run_program(const std::string& program, const std::vector<std::string>& flags,
                   const std::vector<std::string>& environment = {});

}  // namespace nervex::testing
