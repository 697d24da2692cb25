#include "base/net/listener.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/net/address.h"

namespace nervex {

namespace {

// Enough for handlers that recurse deep into JSON, and 2,048 stacks fit everywhere: they are
// address space, and use memory only as needed.
constexpr std::size_t kStackBytes = 2 << 20;

// A caller that needs longer for a request may be evicted for a new connection.
constexpr std::chrono::seconds kSlowSender{1};
// A caller has this long to read why it was refused, even if others wait.
constexpr std::chrono::milliseconds kReadReply{100};
// How long a refused caller may take to read the reason, and how many may do so at once.
constexpr std::chrono::seconds kRefusedStay{1};
constexpr std::size_t kMaxRefused = 64;

// For stop(): wait for callers in the middle of their request, and then for those in the middle of
// their reply.
constexpr std::chrono::milliseconds kReadTimeout{500};
constexpr std::chrono::milliseconds kWriteTimeout{1000};

std::string describe_errno() { return std::generic_category().message(errno); }

void set_option(int socket, int level, int option) {
  const int on = 1;
  setsockopt(socket, level, option, &on, sizeof on);
}

// False if the system cannot create more threads.
bool start_thread(pthread_t& thread, const char* name, void* (*entry)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int failed = pthread_create(&thread, &attributes, entry, argument);
  pthread_attr_destroy(&attributes);
  if (failed == 0) pthread_setname_np(thread, name);
  return failed == 0;
}

Result<UniqueFd> listen_at(const SocketAddress& address) {
  UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error{Code::kTransient, describe_errno()};
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR);  // a restart need not wait for old sockets
  if (bind(socket.get(), address.get(), address.size) != 0) {
    return Error{errno == EADDRINUSE ? Code::kTransient : Code::kInvalid, describe_errno()};
  }
  if (listen(socket.get(), SOMAXCONN) != 0) return Error{Code::kTransient, describe_errno()};
  return socket;
}

// An empty host resolves to 0.0.0.0 and ::; where there is IPv6, the latter accepts both.
Result<UniqueFd> listen_at_any(const std::vector<SocketAddress>& addresses, bool prefer_ipv6) {
  Result<UniqueFd> socket = Error{Code::kInvalid, "no address"};
  for (const bool first : {true, false}) {
    for (const SocketAddress& address : addresses) {
      const bool preferred = !prefer_ipv6 || address.family() == AF_INET6;
      if (preferred != first) continue;
      socket = listen_at(address);
      if (socket || socket.error().code == Code::kTransient) return socket;
    }
  }
  return socket;
}

// Unread bytes, or a caller in the queue.
bool has_unread(int socket) {
  pollfd polled{socket, POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

int bound_port(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return port_number(address);
}

// Rounded up, so that one caller does not put a small pool above it.
std::size_t take_percent(std::size_t whole, int percent) {
  return whole - whole * static_cast<std::size_t>(100 - std::clamp(percent, 0, 100)) / 100;
}

}  // namespace

void Listener::Permit::set_state(State state) {
  const MonoTime now = SystemClock().mono();
  const MutexLock lock(listener_->mutex_);
  state_ = state;
  since_ = now;
  if (state == State::kIdle || state == State::kLeaving || state == State::kWaiting) {
    listener_->permit_changed_.notify_all();
  }
}

bool Listener::Permit::is_evicted() const {
  const MutexLock lock(listener_->mutex_);
  return evicted_;
}

Listener::Listener(ListenerOptions options, Serve serve)
    : max_connections_(std::max<std::size_t>(options.max_connections, 1)),
      max_per_peer_(options.max_per_peer),
      high_watermark_(take_percent(max_connections_, options.high_watermark_percent)),
      queue_timeout_(options.queue_timeout),
      full_(std::move(options.full)),
      serve_(std::move(serve)) {}

Listener::~Listener() { stop(); }

Result<Nothing> Listener::start(const std::string& address) {
  NERVEX_CHECK(!started_);
  const auto host_port = parse_host_port(address);
  if (!host_port) return host_port.error();
  const auto addresses = resolve(*host_port);
  if (!addresses) return with_context("listen on " + address, addresses.error());
  auto socket = listen_at_any(*addresses, host_port->host.empty());
  if (!socket) return with_context("listen on " + address, socket.error());
  socket_ = *std::move(socket);
  port_ = bound_port(socket_.get());
  if (!start_thread(accept_thread_, "http-accept", accept_entry, this)) {
    return Error{Code::kTransient, "start a thread: " + describe_errno()};
  }
  started_ = true;
  return ok();
}

void Listener::stop() {
  const MutexLock lock(stop_mutex_);
  if (!started_ || stopping_) return;
  stopping_ = true;
  stop_.set();
  {
    const MutexLock permits_lock(mutex_);
    permit_changed_.notify_all();
  }
  pthread_join(accept_thread_, nullptr);
  socket_ = UniqueFd();  // new connections are refused from now on
  shut_down_after(kReadTimeout, SHUT_RD);
  shut_down_after(kWriteTimeout, SHUT_RDWR);
  join_all();
}

// A caller that is in the middle of its request, or does not take its reply, would delay the
// program's end. One that waits for its reply has sent everything, and would seem to have left.
void Listener::shut_down_after(std::chrono::milliseconds timeout, int how) {
  const SystemClock clock;
  const MonoTime deadline = clock.mono() + timeout;
  MutexLock lock(mutex_);
  while (!all_finished() && clock.mono() < deadline) permit_changed_.wait_until(mutex_, deadline);
  for (const Permit& permit : permits_) {
    const bool waits = how == SHUT_RD && permit.state_ == Permit::State::kBusy;
    if (!permit.finished_ && !waits) shutdown(permit.socket_.get(), how);
  }
}

bool Listener::all_finished() const {
  return std::all_of(permits_.begin(), permits_.end(),
                     [](const Permit& permit) { return permit.finished_; });
}

void* Listener::accept_entry(void* listener) {
  static_cast<Listener*>(listener)->accept_until_stopped();
  return nullptr;
}

void Listener::accept_until_stopped() {
  while (!stopping_) {
    pollfd polled[2] = {{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    poll(polled, 2, accept_timeout());
    forget_refused(SystemClock().mono());
    if (polled[0].revents != 0) accept_queued();
    join_finished();
  }
}

// Until the system's queue is empty.
void Listener::accept_queued() {
  std::optional<MonoTime> deadline;
  while (!stopping_ && is_anyone_queued()) {
    wait_for_permit(deadline);
    if (stopping_ || !accept_one()) return;
    join_finished();  // a flood of short connections may never empty the queue
  }
}

bool Listener::is_anyone_queued() const { return has_unread(socket_.get()); }

// All callers queued meanwhile wait together: the first one sets `deadline`.
void Listener::wait_for_permit(std::optional<MonoTime>& deadline) {
  const SystemClock clock;
  MutexLock lock(mutex_);
  while (!stopping_ && live_ >= max_connections_ && find_evictable(clock.mono()) == nullptr) {
    if (!deadline) deadline = clock.mono() + queue_timeout_;
    if (clock.mono() >= *deadline) return;
    // Connections that become evictable by waiting send no notification.
    permit_changed_.wait_until(mutex_, std::min(*deadline, clock.mono() + kReadReply));
  }
}

bool Listener::accept_one() {
  SocketAddress peer;
  peer.size = sizeof peer.storage;
  UniqueFd socket(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size,
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) {
    starved_ = false;
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY);
    if (!serve_with_permit(socket, format_ip(peer))) refuse(std::move(socket));
    return true;
  }
  // Most errors concern only that caller (accept(2): treat them like EAGAIN).
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    wait_for_resources();
  }
  return false;
}

// The caller stays in the queue, and an immediate retry would only burn a core: nothing reports
// when the system has descriptors or memory again.
void Listener::wait_for_resources() {
  if (!std::exchange(starved_, true)) {
    log_warn("cannot accept connections", {{"error", describe_errno()}});
  }
  {
    const MutexLock lock(mutex_);
    evict_one();
  }
  pollfd stop{stop_.get(), POLLIN, 0};
  poll(&stop, 1, 100);
}

bool Listener::serve_with_permit(UniqueFd& socket, std::string peer) {
  const MutexLock lock(mutex_);
  if (is_at_limit(peer) && !evict_one_from(peer)) return false;
  if (is_above_high_watermark() || live_ >= max_connections_) evict_one();
  if (live_ >= max_connections_) return false;
  Permit& permit = permits_.emplace_back();
  permit.listener_ = this;
  permit.socket_ = std::move(socket);
  permit.peer_ = std::move(peer);
  ++live_;
  ++live_of_[permit.peer_];
  if (start_thread(permit.thread_, "http", serve_entry, &permit)) return true;
  end_live(permit);
  socket = std::move(permit.socket_);
  permits_.pop_back();
  return false;
}

// Nothing here waits. An immediate close would reset the connection when the caller's request
// arrives, and the caller would never read the answer.
void Listener::refuse(UniqueFd socket) {
  if (full_.empty()) return;
  send(socket.get(), full_.data(), full_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket.get(), SHUT_WR);
  if (refused_.size() == kMaxRefused) refused_.pop_front();
  refused_.emplace_back(std::move(socket), SystemClock().mono() + kRefusedStay);
}

void Listener::forget_refused(MonoTime now) {
  while (!refused_.empty() && refused_.front().second <= now) refused_.pop_front();
}

// Without connections, waits only for the next one. Otherwise also looks for ended threads at
// intervals, because until they are joined the system keeps their stacks, tens of kB each.
int Listener::accept_timeout() {
  constexpr std::chrono::milliseconds kLookForEnded = kRefusedStay;
  const MutexLock lock(mutex_);
  return refused_.empty() && permits_.empty() ? -1 : static_cast<int>(kLookForEnded.count());
}

bool Listener::is_at_limit(const std::string& peer) const {
  if (max_per_peer_ == 0) return false;
  const auto count = live_of_.find(peer);
  return count != live_of_.end() && count->second >= max_per_peer_;
}

bool Listener::evict_one() {
  Permit* evicted = find_evictable(SystemClock().mono());
  if (evicted == nullptr) return false;
  evict(*evicted);
  return true;
}

// For a new connection of the same address. Spares its waiting handlers: otherwise each retry would
// only evict another one with "ask again".
bool Listener::evict_one_from(const std::string& peer) {
  using enum Permit::State;
  const MonoTime now = SystemClock().mono();
  Permit* evicted = find_oldest(kLeaving, now - kReadReply, &peer);
  if (evicted == nullptr) evicted = find_oldest(kIdle, now, &peer);
  if (evicted == nullptr) evicted = find_oldest(kReceiving, now - kSlowSender, &peer);
  if (evicted == nullptr) return false;
  evict(*evicted);
  return true;
}

// Shuts down the connection; its thread sees the end of the stream and returns. The connection of a
// waiting handler stays open for its reply.
void Listener::evict(Permit& permit) {
  permit.evicted_ = true;
  end_live(permit);
  if (permit.state_ != Permit::State::kWaiting) shutdown(permit.socket_.get(), SHUT_RDWR);
}

void Listener::end_live(const Permit& permit) {
  --live_;
  const auto count = live_of_.find(permit.peer_);
  if (--count->second == 0) live_of_.erase(count);
}

// Above the high watermark: connections that need no reply. Slow senders and waiting handlers only
// when no permit is free.
Listener::Permit* Listener::find_evictable(MonoTime now) {
  if (Permit* leaving = find_oldest(Permit::State::kLeaving, now - kReadReply)) return leaving;
  if (Permit* idle = find_oldest(Permit::State::kIdle, now)) return idle;
  if (live_ < max_connections_) return nullptr;
  Permit* slow = find_oldest(Permit::State::kReceiving, now - kSlowSender);
  return slow != nullptr ? slow : find_oldest(Permit::State::kWaiting, now);
}

// The connection longest in this state, at least since `since`; only of this address, unless it is
// null.
Listener::Permit* Listener::find_oldest(Permit::State state, MonoTime since,
                                        const std::string* peer) {
  Permit* oldest = nullptr;
  for (Permit& permit : permits_) {
    if (permit.state_ != state || permit.evicted_ || permit.finished_) continue;
    if (permit.since_ > since || (peer != nullptr && permit.peer_ != *peer)) continue;
    if (oldest != nullptr && permit.since_ >= oldest->since_) continue;
    if (state == Permit::State::kIdle && has_unread(permit.socket())) continue;
    oldest = &permit;
  }
  return oldest;
}

void* Listener::serve_entry(void* argument) {
  auto& permit = *static_cast<Permit*>(argument);
  permit.listener_->serve_(permit);
  permit.listener_->finish(permit);
  return nullptr;
}

void Listener::finish(Permit& permit) {
  // Closed under the lock: evict_one() must never shut down a later socket of the same number.
  const MutexLock lock(mutex_);
  permit.socket_ = UniqueFd();
  permit.finished_ = true;
  permit_changed_.notify_all();
  if (!permit.evicted_) end_live(permit);
}

void Listener::join_finished() {
  std::list<Permit> finished;
  {
    const MutexLock lock(mutex_);
    for (auto permit = permits_.begin(); permit != permits_.end();) {
      const auto next = std::next(permit);
      if (permit->finished_) finished.splice(finished.end(), permits_, permit);
      permit = next;
    }
  }
  for (const Permit& permit : finished) pthread_join(permit.thread_, nullptr);
}

void Listener::join_all() {
  std::list<Permit> permits;
  {
    const MutexLock lock(mutex_);
    permits.swap(permits_);
  }
  for (const Permit& permit : permits) pthread_join(permit.thread_, nullptr);
}

}  // namespace nervex
