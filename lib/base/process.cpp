#include "base/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

extern char** environ;  // NOLINT: POSIX declares it in no header

namespace nervex {

namespace {

// How soon the end of a process is noticed, with or without closed streams. Process descriptors
// (pidfd) would notify, but not all sandboxes like gVisor support them.
constexpr int kLookAgainMs = 20;

std::string describe(int error) { return std::generic_category().message(error); }

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Error{Code::kTransient, "pipe: " + describe(errno)};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// The arguments of posix_spawn, freed with the scope.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // Our threads block termination signals and ignore SIGPIPE; the child must not.
    sigset_t none;
    sigset_t changed;
    sigemptyset(&none);
    sigemptyset(&changed);
    sigaddset(&changed, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &changed);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void read_nothing() {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  void send(int stream, const UniqueFd& to) {
    posix_spawn_file_actions_adddup2(&actions_, to.get(), stream);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string_view variable_name(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

// Our environment; `added` replaces variables of the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return variable_name(other) == variable_name(*variable);
    });
    if (!replaced) all.emplace_back(*variable);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A running process. Killed and reaped at the end of the scope, unless it has ended.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool has_ended() {
    if (pid_ <= 0) return true;
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended > 0) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    pid_ = -1;  // also if another waiter reaped it: the exit status is then unknown
    return true;
  }
  int exit_code() const { return exit_code_; }

 private:
  pid_t pid_;
  int exit_code_ = 255;
};

// Reads what is there, up to more than `limit` bytes. False: the stream has ended.
bool read_available(int fd, std::string& into, std::size_t limit) {
  char piece[4096];
  while (into.size() <= limit) {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got > 0) {
      into.append(piece, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return got < 0 && errno == EAGAIN;
    }
  }
  return true;
}

struct Streams {
  Pipe out;
  Pipe err;
};

Result<pid_t> spawn(const ProcessOptions& options, const Streams& streams) {
  SpawnPlan plan;
  if (!options.interactive) plan.read_nothing();
  plan.send(STDOUT_FILENO, streams.out.write);
  if (!options.interactive) plan.send(STDERR_FILENO, streams.err.write);
  auto argv = options.argv;
  auto env = environment_with(options.env);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv.at(0).c_str(), plan.actions(), plan.attributes(),
                                 pointers_to(argv).data(), pointers_to(env).data());
  if (error != 0) return Error{Code::kInvalid, describe(error)};
  return pid;
}

struct Started {
  pid_t pid = -1;
  Streams streams;  // their write ends are closed
};

Result<Started> start_child(const ProcessOptions& options) {
  auto out = make_pipe();
  if (!out) return out.error();
  auto err = make_pipe();
  if (!err) return err.error();
  Started started{-1, {*std::move(out), *std::move(err)}};
  const auto pid = spawn(options, started.streams);
  if (!pid) return pid.error();
  started.pid = *pid;
  started.streams.out.write = UniqueFd();  // otherwise the streams would never end
  started.streams.err.write = UniqueFd();
  return started;
}

}  // namespace

Result<ProcessEnd> run_process(const ProcessOptions& options, MonoTime deadline,
                               const CallLimit& limit) {
  NERVEX_CHECK(!options.argv.empty());
  auto started = start_child(options);
  if (!started) return started.error();
  Child child(started->pid);
  const Streams& streams = started->streams;

  ProcessEnd end;
  bool out_open = true;
  bool err_open = true;
  for (;;) {
    const bool ended = child.has_ended();  // before reading: nothing arrives afterwards
    out_open = out_open && read_available(streams.out.read.get(), end.out, options.max_output);
    err_open = err_open && read_available(streams.err.read.get(), end.err, options.max_output);
    if (end.out.size() > options.max_output || end.err.size() > options.max_output) {
      return Error{Code::kTransient,
                   fmt::format("wrote more than {} bytes, killed", options.max_output)};
    }
    if (ended) break;
    if (limit.is_over()) return Error{Code::kTransient, "the program is stopping"};
    if (SystemClock().mono() >= deadline) return Error{Code::kTransient, "timed out, killed"};
    pollfd polled[3] = {{limit.fd(), POLLIN, 0},
                        {out_open ? streams.out.read.get() : -1, POLLIN, 0},
                        {err_open ? streams.err.read.get() : -1, POLLIN, 0}};
    poll(polled, 3, kLookAgainMs);
  }
  end.exit_code = child.exit_code();
  return end;
}

// ---- BackgroundProcess

struct BackgroundProcess::Impl {
  explicit Impl(Started started) : child(started.pid), streams(std::move(started.streams)) {}

  Child child;
  Streams streams;
  std::string out;  // not yet returned
  std::string err;
};

BackgroundProcess::BackgroundProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BackgroundProcess::~BackgroundProcess() = default;
BackgroundProcess::BackgroundProcess(BackgroundProcess&&) noexcept = default;
BackgroundProcess& BackgroundProcess::operator=(BackgroundProcess&&) noexcept = default;

Result<BackgroundProcess> BackgroundProcess::start(const ProcessOptions& options) {
  ProcessOptions quiet = options;
  quiet.interactive = false;
  auto started = start_child(quiet);
  if (!started) return started.error();
  return BackgroundProcess(std::make_unique<Impl>(*std::move(started)));
}

Result<std::string> BackgroundProcess::read_line(MonoTime deadline) {
  constexpr std::size_t kMaxText = 1 << 16;
  for (;;) {
    const bool has_ended = impl_->child.has_ended();  // before reading: nothing arrives afterwards
    read_available(impl_->streams.out.read.get(), impl_->out, kMaxText);
    read_available(impl_->streams.err.read.get(), impl_->err, kMaxText);
    if (const auto end = impl_->out.find('\n'); end != std::string::npos) {
      std::string line = impl_->out.substr(0, end);
      impl_->out.erase(0, end + 1);
      return line;
    }
    if (has_ended || SystemClock().mono() >= deadline) {
      std::string why = has_ended ? "it ended" : "it said nothing in time";
      if (!impl_->err.empty())
        why += ": " + impl_->err.substr(0, impl_->err.find_last_not_of('\n') + 1);
      return Error{Code::kTransient, why};
    }
    pollfd polled{impl_->streams.out.read.get(), POLLIN, 0};
    poll(&polled, 1, kLookAgainMs);
  }
}

}  // namespace nervex
