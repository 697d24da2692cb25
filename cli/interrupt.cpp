#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/error.h"

namespace nervex::cli {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interrupt::Interrupt(std::optional<std::chrono::milliseconds> timeout) {
  const sigset_t set = ending_signals();
  NERVEX_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  thread_ = std::jthread([this, timeout](const std::stop_token& end) { wait(end, timeout); });
}

void Interrupt::wait(const std::stop_token& end, std::optional<std::chrono::milliseconds> timeout) {
  const sigset_t set = ending_signals();
  const MonoTime deadline = timeout ? SystemClock().mono() + *timeout : MonoTime::max();
  constexpr timespec kLookAgain{0, 50'000'000};
  while (!end.stop_requested()) {
    if (sigtimedwait(&set, nullptr, &kLookAgain) > 0) {
      if (is_interrupted_.exchange(true)) _exit(kExitInterrupted);
      source_.request_stop();
    }
    if (SystemClock().mono() >= deadline && !source_.stop_requested()) {
      is_timed_out_ = true;
      source_.request_stop();
    }
  }
}

}  // namespace nervex::cli
