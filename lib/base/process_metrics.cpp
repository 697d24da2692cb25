// base/process_metrics.cpp - what does the system say about this process? Read from /proc at each
// scrape; names and help as in client_golang's process collector.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

#include "base/metrics.h"

namespace nervex {
namespace {

// The fields of /proc/self/stat after the program's name (proc(5)), which may contain blanks; state
// comes first. Empty if unreadable.
std::vector<std::string> stat_fields() {
  std::ifstream in("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream rest(text.substr(end_of_name + 1));
  return {std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>()};
}

// `number` as in proc(5).
double stat_field(std::size_t number) {
  const auto fields = stat_fields();
  const std::size_t index = number - 3;
  return index < fields.size() ? std::strtod(fields[index].c_str(), nullptr) : 0;
}

double ticks_to_seconds(double ticks) { return ticks / static_cast<double>(sysconf(_SC_CLK_TCK)); }

double cpu_seconds() { return ticks_to_seconds(stat_field(14) + stat_field(15)); }

double virtual_bytes() { return stat_field(23); }

double resident_bytes() { return stat_field(24) * static_cast<double>(sysconf(_SC_PAGESIZE)); }

double boot_time_seconds() {
  std::ifstream in("/proc/stat");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("btime ")) return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

double start_time_seconds() { return boot_time_seconds() + ticks_to_seconds(stat_field(22)); }

double open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator entries("/proc/self/fd", error);
  const auto count = std::distance(begin(entries), end(entries));
  return static_cast<double>(count > 0 ? count - 1 : 0);  // without the one that reads it
}

double most_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

void add_process_metrics(Metrics& metrics, const std::string& version) {
  const auto add = [&metrics](const char* name, const char* help, MetricType type,
                              double (*read)()) {
    metrics.collect(name, help, type, [read] {
      return std::vector<MetricSample>{{MetricLabels{}, read()}};
    });
  };
  add("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
      MetricType::kCounter, cpu_seconds);
  add("process_resident_memory_bytes", "Resident memory size in bytes.", MetricType::kGauge,
      resident_bytes);
  add("process_virtual_memory_bytes", "Virtual memory size in bytes.", MetricType::kGauge,
      virtual_bytes);
  add("process_open_fds", "Number of open file descriptors.", MetricType::kGauge, open_descriptors);
  add("process_max_fds", "Maximum number of open file descriptors.", MetricType::kGauge,
      most_descriptors);
  add("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
      MetricType::kGauge, start_time_seconds);
  metrics.gauge("nervex_build_info", "Always 1, labeled with the version.", {{"version", version}})
      .set(1);
}

}  // namespace nervex
