// bench/admission/load.cpp - sends reviews over TLS connections that stay open, as an API server
// does, and tells how long each took.
//
//   admission_load HOST:PORT CA PATH REVIEWS CONNECTIONS CALLS RATE
//
// REVIEWS is a file with one body a line, sent in turn. RATE is in calls a second, over all
// connections: a call counts from the moment when it was due, so that a server that is late makes
// the next ones late, too. RATE 0: each connection sends its next call as soon as it has the reply.
// Prints one JSON line.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/net/address.h"
#include "base/net/connection.h"
#include "base/read_file.h"
#include "base/tls/tls.h"

namespace nervex {
namespace {

using std::chrono::steady_clock;
using Micros = std::chrono::duration<double, std::micro>;

struct Options {
  HostPort address;
  std::string ca_file;
  std::string path;
  std::string reviews_file;
  int connections = 1;
  int calls = 0;
  double rate = 0;
};

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "error: " << why << "\n";
  std::exit(1);
}

Options options_from(int argc, char** argv) {
  if (argc != 8) fail("usage: admission_load HOST:PORT CA PATH REVIEWS CONNECTIONS CALLS RATE");
  const auto address = parse_host_port(argv[1]);
  if (!address) fail(address.error().message);
  return {*address,           argv[2],           argv[3], argv[4], std::stoi(argv[5]),
          std::stoi(argv[6]), std::stod(argv[7])};
}

std::vector<std::string> requests_from(const Options& options) {
  std::vector<std::string> requests;
  std::ifstream file(options.reviews_file);
  for (std::string body; std::getline(file, body);) {
    requests.push_back(
        fmt::format("POST {}?timeout=10s HTTP/1.1\r\nHost: webhook.svc:443\r\n"
                    "User-Agent: kube-apiserver-admission\r\nContent-Length: {}\r\n"
                    "Accept: application/json, */*\r\nContent-Type: application/json\r\n"
                    "Accept-Encoding: gzip\r\n\r\n{}",
                    options.path, body.size(), body));
  }
  if (requests.empty()) fail("no reviews in " + options.reviews_file);
  return requests;
}

// Where the reply ends that begins at `text`'s front; 0: not yet.
std::size_t end_of_reply(std::string_view text) {
  constexpr std::string_view kLength = "content-length: ";
  constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  std::string lower(text.substr(0, head + 2));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::size_t at = lower.find(kLength);
  if (at == std::string::npos) {
    const std::size_t last = text.find(kLastChunk, head);
    return last == std::string_view::npos ? 0 : last + kLastChunk.size();
  }
  std::size_t length = 0;
  std::from_chars(lower.data() + at + kLength.size(), lower.data() + lower.size(), length);
  const std::size_t end = head + 4 + length;
  return text.size() < end ? 0 : end;
}

// Reads the reply, which must admit what was sent.
void take_reply(Connection& connection) {
  std::size_t end = 0;
  while ((end = end_of_reply(connection.buffered())) == 0) {
    if (!connection.fill()) fail("no reply: " + connection.why());
  }
  const std::string_view reply = connection.buffered().substr(0, end);
  if (!reply.starts_with("HTTP/1.1 200") || reply.find("\"allowed\":true") == reply.npos) {
    fail(fmt::format("not admitted: {}", reply.substr(0, 2000)));
  }
  connection.drop(end);
}

std::vector<double> send_all(const Options& options, const std::vector<std::string>& requests) {
  const auto ca = read_file(options.ca_file);
  if (!ca) fail(ca.error().message);
  const auto tls = client_tls_context(*ca, {});
  if (!tls) fail(tls.error().message);
  std::vector<std::unique_ptr<DialedConnection>> dialed;
  for (int i = 0; i < options.connections; ++i) {
    const auto deadline = SystemClock().mono() + std::chrono::seconds(10);
    auto one = dial({options.address, *tls, options.address.host}, deadline, -1);
    if (!one) fail(one.error().message);
    (*one)->connection.set_deadline(MonoTime::max());
    dialed.push_back(*std::move(one));
  }
  std::vector<double> took(static_cast<std::size_t>(options.calls));
  std::atomic<int> next = 0;
  const auto start = steady_clock::now();
  const auto run = [&](Connection& connection) {
    for (int i = next++; i < options.calls; i = next++) {
      auto due = steady_clock::now();
      if (options.rate > 0) {
        due = start + std::chrono::duration_cast<steady_clock::duration>(
                          std::chrono::duration<double>(i / options.rate));
        std::this_thread::sleep_until(due);
      }
      const auto index = static_cast<std::size_t>(i);
      if (!connection.write(requests[index % requests.size()])) {
        fail("cannot send: " + connection.why());
      }
      take_reply(connection);
      took[index] = Micros(steady_clock::now() - due).count();
    }
  };
  std::vector<std::jthread> threads;
  threads.reserve(dialed.size());
  for (auto& one : dialed) threads.emplace_back([&] { run(one->connection); });
  threads.clear();
  return took;
}

int main_of_load(int argc, char** argv) {
  const Options options = options_from(argc, argv);
  const auto requests = requests_from(options);
  const auto start = steady_clock::now();
  auto took = send_all(options, requests);
  const double seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
  std::sort(took.begin(), took.end());
  const auto at = [&](double part) {
    const auto last = static_cast<double>(took.size()) - 1;
    return took.empty() ? 0.0 : took[static_cast<std::size_t>(part * last)];
  };
  std::cout << fmt::format(
      R"({{"calls": {}, "seconds": {:.3f}, "p50_us": {:.0f}, "p99_us": {:.0f}, "max_us": {:.0f}}})"
      "\n",
      took.size(), seconds, at(0.5), at(0.99), at(1));
  return 0;
}

}  // namespace
}  // namespace nervex

int main(int argc, char** argv) { return nervex::main_of_load(argc, argv); }
