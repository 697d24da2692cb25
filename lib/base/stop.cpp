#include "base/stop.h"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/program.h"

namespace nervex {
namespace {

using std::chrono::milliseconds;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// In a signal handler: no log, no destructor, only these two calls.
void end_at_once(std::string_view why) {
  [[maybe_unused]] const auto ignored = write(STDERR_FILENO, why.data(), why.size());
  _exit(kExitFailure);
}

void on_second_signal(int /*signal*/) {
  end_at_once("exiting at once: received a second signal\n");
}

void on_limit(int /*signal*/) { end_at_once("exiting: shutdown took too long\n"); }

// A handler, because the default action does not apply to process 1 of a container.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  NERVEX_CHECK(sigaction(signal, &action, nullptr) == 0);
}

void set_timer(milliseconds time) {
  itimerval timer{};
  timer.it_value.tv_sec = time.count() / 1000;
  timer.it_value.tv_usec = time.count() % 1000 * 1000;
  NERVEX_CHECK(setitimer(ITIMER_REAL, &timer, nullptr) == 0);
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t set = stop_signals();
  NERVEX_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  // A caller that hangs up must not end the program: the write fails instead.
  NERVEX_CHECK(std::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

StopSignal::~StopSignal() {
  if (!told_) return;
  const auto took = std::chrono::floor<milliseconds>(SystemClock().mono() - *told_);
  log_info("stopped", {{"after_ms", std::to_string(took.count())}});
}

int StopSignal::wait() {
  const sigset_t set = stop_signals();
  int signal = 0;
  NERVEX_CHECK(sigwait(&set, &signal) == 0);
  told_ = SystemClock().mono();
  if (state_.exchange(State::kStopping) == State::kFailed) {
    log_error("stopping", {{"why", "a failure, see above"}});
    return kExitFailure;
  }
  log_info("stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  return kExitOk;
}

// Sent to the process. All its threads block the signal, so it stays pending until wait().
void StopSignal::trigger() { NERVEX_CHECK(kill(getpid(), SIGTERM) == 0); }

// After wait() a signal would count as the second one.
void StopSignal::fail() {
  State waiting = State::kWaiting;
  if (state_.compare_exchange_strong(waiting, State::kFailed)) trigger();
}

Ending::Ending(milliseconds delay) : began_(SystemClock().mono()), delay_(delay) {
  handle(SIGALRM, on_limit);
  set_timer(kStopLimit - milliseconds(100));
  const sigset_t set = stop_signals();
  for (const int signal : {SIGTERM, SIGINT}) handle(signal, on_second_signal);
  NERVEX_CHECK(pthread_sigmask(SIG_UNBLOCK, &set, nullptr) == 0);
}

MonoTime Ending::calls_end() const {
  return began_ + std::max(kStopLimit / 2, delay_ + milliseconds(1000));
}

// Nothing reports when all endpoint lists exclude this program.
void Ending::linger() const { std::this_thread::sleep_until(began_ + delay_); }

}  // namespace nervex
