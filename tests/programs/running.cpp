#include "tests/programs/running.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "tests/support/wait_until.h"

namespace nervex::testing {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Without NERVEX_*: our programs read flags from variables of that name.
std::vector<std::string> plain_environment() {
  std::vector<std::string> kept;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!std::string(*at).starts_with("NERVEX_")) kept.emplace_back(*at);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

pid_t spawn(const std::string& program, std::vector<std::string> flags, const std::string& output,
            std::vector<std::string> environment, const MemoryCgroup* cgroup = nullptr) {
  flags.insert(flags.begin(), fmt::format("{}/nervex-{}", NERVEX_BIN, program));
  if (cgroup != nullptr) {
    flags.insert(flags.begin(),
                 {"/bin/sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", cgroup->processes_file()});
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, flags[0].c_str(), &files, nullptr, pointers(flags).data(),
                                 pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + flags[0]);
  return pid;
}

int to_exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// "metrics_port=1234" in the log.
int logged_number(const std::string& log, const std::string& key) {
  const auto at = log.find(" " + key + "=");
  return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + key.size() + 2);
}

}  // namespace

HungApiServer::HungApiServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, raw, size) != 0 || listen(listener_, 128) != 0 ||
      getsockname(listener_, raw, &size) != 0) {
    throw std::runtime_error("cannot listen");
  }
  port_ = ntohs(address.sin_port);
}

HungApiServer::~HungApiServer() { close(listener_); }

RunningProgram::RunningProgram(const std::string& program, const std::string& api_server,
                               const std::vector<std::string>& more_flags,
                               const MemoryCgroup* cgroup)
    : program_(program) {
  const std::string kubeconfig = files_.add(
      "kubeconfig", fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                "clusters: [{{name: c, cluster: {{server: '{}'}}}}]\n"
                                "users: [{{name: u, user: {{token: t}}}}]\n"
                                "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
                                api_server));
  std::vector<std::string> flags{"--kubeconfig", kubeconfig, "--metrics-listen", "127.0.0.1:0"};
  if (program != "controller") flags.insert(flags.end(), {"--listen", "127.0.0.1:0"});
  if (uses_tls()) {
    const test::TestCa ca;
    ca_ = ca.pem();
    const auto identity = ca.issue({"IP:127.0.0.1"});
    flags.insert(flags.end(), {"--tls-cert-file", files_.add("tls.crt", identity.cert),
                               "--tls-key-file", files_.add("tls.key", identity.key)});
  }
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  pid_ = spawn(program, flags, files_.directory() + "/log", plain_environment(), cgroup);
  const bool serves = wait_until([this] { return logged_number(log(), "metrics_port") != 0; },
                                 std::chrono::seconds(60));
  if (!serves) throw std::runtime_error(program + " does not serve: " + log());
  metrics_port_ = logged_number(log(), "metrics_port");
  port_ = logged_number(log(), "port");
}

RunningProgram::~RunningProgram() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool RunningProgram::uses_tls() const { return program_ == "webhook"; }

// The number after `key` in /proc/<pid>/status; memory is in KiB there.
std::size_t RunningProgram::process_status(const std::string& key) const {
  const std::string status = read(fmt::format("/proc/{}/status", pid_));
  const auto at = status.find(key);
  if (at == std::string::npos) throw std::runtime_error("no " + key + " of " + program_);
  return std::strtoull(status.c_str() + at + key.size(), nullptr, 10);
}

std::size_t RunningProgram::peak_memory_bytes() const { return process_status("VmHWM:") << 10; }

std::size_t RunningProgram::memory_bytes() const { return process_status("VmRSS:") << 10; }

std::size_t RunningProgram::threads() const { return process_status("Threads:"); }

std::string RunningProgram::log() const { return read(files_.directory() + "/log"); }

void RunningProgram::signal(int number) const { kill(pid_, number); }

std::optional<Ended> RunningProgram::wait(milliseconds limit) {
  const auto began = SteadyClock::now();
  int status = 0;
  const bool ended = wait_until([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, limit);
  if (!ended) return std::nullopt;
  pid_ = 0;
  return Ended{to_exit_code(status), std::chrono::floor<milliseconds>(SteadyClock::now() - began)};
}

Output run_program(const std::string& program, const std::vector<std::string>& flags,
                   const std::vector<std::string>& environment) {
  const test::TestFiles files;
  const std::string output = files.directory() + "/output";
  auto variables = plain_environment();
  variables.insert(variables.end(), environment.begin(), environment.end());
  const pid_t pid = spawn(program, flags, output, variables);
  int status = 0;
  const bool ended =
      wait_until([&] { return waitpid(pid, &status, WNOHANG) == pid; }, std::chrono::seconds(60));
  if (!ended) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return {-1, "it did not end: " + read(output)};
  }
  return {to_exit_code(status), read(output)};
}

}  // namespace nervex::testing
