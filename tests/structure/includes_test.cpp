// tests/structure/includes_test.cpp - do the includes follow the arrows of docs/architecture.md?
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Our folders that each folder with its subfolders, or one file, may include. A subfolder that is
// named here follows its own rule. Programs never include each other.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {"base"}},
    {"kube/model", {"kube/model", "base"}},
    {"kube", {"kube", "kube/model", "base"}},
    {"job", {"job", "kube/model", "base"}},
    {"gang", {"gang", "kube/model", "base"}},
    {"placement", {"placement", "gang", "kube/model", "base"}},
    {"queue", {"queue", "gang", "kube/model", "base"}},
    {"demand", {"demand", "job", "gang", "kube/model", "base"}},
    // From what a cycle reads to its steps.
    {"planner/facts", {"planner/facts", "gang", "placement", "queue", "kube/model", "base"}},
    {"planner/gang",
     {"planner/gang", "planner/facts", "gang", "placement", "queue", "kube/model", "base"}},
    {"planner/recovery",
     {"planner/recovery", "planner/gang", "planner/facts", "gang", "placement", "base"}},
    {"planner/bind",
     {"planner/bind", "planner/gang", "planner/facts", "gang", "placement", "kube/model", "base"}},
    {"planner/report",
     {"planner/report", "planner/recovery", "planner/facts", "gang", "placement", "base"}},
    {"planner/foreign",
     {"planner/foreign", "planner/bind", "planner/recovery", "planner/gang", "planner/facts",
      "gang", "placement", "queue", "kube/model", "base"}},
    {"planner/work",
     {"planner/work", "planner/foreign", "planner/report", "planner/recovery", "planner/gang",
      "planner/facts", "gang", "placement", "queue", "kube/model", "base"}},
    {"planner/reserved_nodes",
     {"planner/reserved_nodes", "planner/work", "planner/recovery", "planner/gang", "planner/facts",
      "gang", "queue"}},
    {"planner/steps",
     {"planner/steps", "planner/reserved_nodes", "planner/work", "planner/foreign",
      "planner/recovery", "planner/gang", "planner/facts", "gang", "placement", "queue"}},
    {"planner/preemption",
     {"planner/preemption", "planner/steps", "planner/reserved_nodes", "planner/work",
      "planner/recovery", "planner/gang", "planner/facts", "queue", "base"}},
    {"planner/reservation",
     {"planner/reservation", "planner/preemption", "planner/steps", "planner/reserved_nodes",
      "planner/work", "planner/facts", "queue"}},
    {"planner",
     {"planner", "planner/reservation", "planner/preemption", "planner/steps",
      "planner/reserved_nodes", "planner/work", "planner/recovery", "planner/gang", "planner/facts",
      "gang", "queue"}},
    {"planner/simulation",
     {"planner/simulation", "planner", "planner/recovery", "planner/facts", "demand", "job", "gang",
      "queue", "kube/model", "base"}},
    {"view", {"view", "job", "gang", "placement", "queue", "kube/model", "base"}},
    {"schemas", {"schemas"}},
    {"webhook",
     {"webhook", "schemas", "demand", "job", "gang", "placement", "queue", "kube", "kube/model",
      "base"}},
    {"extender",
     {"extender", "extender/observe", "extender/bind", "extender/act", "planner/facts",
      "planner/recovery", "planner/simulation", "gang", "job", "queue", "kube", "kube/model",
      "base"}},
    // The parts of the cache are seen by the cache alone, but for the volumes, which simulations
    // read.
    {"extender/observe",
     {"extender/observe", "extender/observe/parts", "planner/facts", "planner/gang",
      "planner/recovery", "planner/bind", "planner/work", "gang", "queue", "kube", "kube/model",
      "base"}},
    {"extender/observe/parts",
     {"extender/observe/parts", "planner/facts", "planner/gang", "planner/recovery", "planner/bind",
      "planner/work", "planner/preemption", "gang", "placement", "queue", "kube", "kube/model",
      "base"}},
    {"extender/bind",
     {"extender/bind", "extender/observe", "planner/bind", "planner/recovery", "gang", "kube",
      "kube/model", "base"}},
    {"extender/act",
     {"extender/act", "extender/observe", "extender/observe/parts", "planner", "planner/facts",
      "planner/gang", "planner/recovery", "planner/bind", "planner/foreign", "planner/simulation",
      "gang", "queue", "job", "kube", "kube/model", "base"}},
    {"controller",
     {"controller", "controller/observe", "controller/decide", "controller/decide/reasons.h",
      "controller/decide/round", "controller/decide/attempt", "controller/decide/objects",
      "controller/decide/status", "controller/act", "kube", "base"}},
    {"controller/observe",
     {"controller/observe", "controller/decide", "controller/decide/actions.h",
      "controller/decide/round", "controller/decide/objects", "job", "gang", "queue", "kube",
      "kube/model", "base"}},
    {"controller/decide",
     {"controller/decide", "controller/decide/actions.h", "controller/decide/reasons.h",
      "controller/decide/round", "controller/decide/attempt", "controller/decide/objects",
      "controller/decide/status", "job", "gang", "kube/model", "base"}},
    {"controller/decide/actions.h", {"job", "kube", "kube/model", "base"}},
    {"controller/decide/reasons.h", {"job", "kube/model"}},
    {"controller/decide/round",
     {"controller/decide/round", "controller/decide/reasons.h", "job", "gang", "queue", "kube",
      "kube/model", "base"}},
    {"controller/decide/attempt",
     {"controller/decide/attempt", "controller/decide/round", "controller/decide/actions.h",
      "controller/decide/reasons.h", "demand", "job", "gang", "kube/model", "base"}},
    {"controller/decide/objects",
     {"controller/decide/objects", "controller/decide/attempt", "controller/decide/round",
      "controller/decide/actions.h", "controller/decide/reasons.h", "demand", "job", "gang", "kube",
      "kube/model", "base"}},
    {"controller/decide/status",
     {"controller/decide/status", "controller/decide/objects", "controller/decide/attempt",
      "controller/decide/round", "controller/decide/reasons.h", "job", "gang", "kube/model",
      "base"}},
    {"controller/act",
     {"controller/act", "controller/observe", "controller/decide", "controller/decide/actions.h",
      "controller/decide/reasons.h", "controller/decide/attempt", "controller/decide/objects",
      "job", "gang", "kube", "kube/model", "base"}},
    {"server", {"server", "server/decide", "job", "gang", "kube", "kube/model", "base"}},
    {"server/decide", {"server/decide", "job", "gang", "kube/model", "base"}},
    {"server/http",
     {"server/http", "server", "server/decide", "job", "gang", "kube", "kube/model", "base"}},
    {"server/main.cpp",
     {"server", "server/http", "kube", "base"}},  // nothing else there knows http
    {"certs", {"certs", "kube", "kube/model", "base"}},
    {"cli",
     {"cli", "certs", "schemas", "view", "placement", "queue", "job", "gang", "kube", "kube/model",
      "base"}},
};

// Of base, the pure folders may use only values: no I/O, threads or logging.
const std::set<std::string> kPureBase = {"base/backoff.h", "base/clock.h",    "base/duration.h",
                                         "base/error.h",   "base/sip_hash.h", "base/text.h"};

// Libraries that only the named files may include: one adapter each.
const std::map<std::string, std::set<std::string>> kAdapters = {
    {"httplib.h", {"base/http/exchange.cpp", "base/http/session.cpp"}},
    {"valijson/", {"job/schema/schema_check.cpp"}},
    {"yaml-cpp/", {"kube/config.cpp", "cli/validate/manifests.cpp"}},
    {"prometheus/", {"base/metrics.cpp"}},
};

struct Include {
  std::string file;    // as an include line names it: of a library below lib/
  std::string target;  // as written
};

// Empty if the folder is not below this root.
std::vector<Include> includes_below(const fs::path& root, const std::string& folder) {
  static const std::regex pattern(R"re(^\s*#include\s+["<]([^">]+)[">])re");
  std::vector<Include> found;
  if (!fs::exists(root / folder)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    std::ifstream in(entry.path());
    std::smatch match;
    for (std::string line; std::getline(in, line);) {
      if (std::regex_search(line, match, pattern)) {
        found.push_back({fs::relative(entry.path(), root).string(), match[1]});
      }
    }
  }
  return found;
}

std::vector<Include> all_includes() {
  std::set<std::string> top;
  for (const auto& [folder, allowed] : kMayInclude) top.insert(folder.substr(0, folder.find('/')));
  std::vector<Include> all;
  for (const auto& folder : top) {
    for (const char* root : {NERVEX_SOURCE_DIR, NERVEX_SOURCE_DIR "/lib"}) {
      const auto more = includes_below(root, folder);
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  return all;
}

// The key of kMayInclude that says most about this path; "" for a library's header.
std::string find_area(std::string path) {
  while (!path.empty() && !kMayInclude.contains(path)) {
    const auto slash = path.rfind('/');
    path = slash == std::string::npos ? "" : path.substr(0, slash);
  }
  return path;
}

}  // namespace

TEST_CASE("every folder includes only the folders before it", "[structure]") {
  const auto includes = all_includes();
  REQUIRE(includes.size() > 100);  // else the search itself is broken
  for (const auto& [file, target] : includes) {
    if (find_area(target).empty()) continue;
    INFO(file << " includes " << target);
    CHECK(kMayInclude.at(find_area(file)).contains(find_area(target)));
  }
}

TEST_CASE("pure folders use values of base, never its I/O", "[structure]") {
  for (const auto& [file, target] : all_includes()) {
    static const std::vector<std::string> kPure = {
        "kube/model/",    "job/",    "gang/", "demand/",
        "placement/",     "queue/",  "view/", "controller/decide/",
        "server/decide/", "planner/"};
    const auto is_below = [&file = file](const std::string& folder) {
      return file.starts_with(folder);
    };
    if (std::none_of(kPure.begin(), kPure.end(), is_below)) continue;
    if (find_area(target) != "base") continue;
    INFO(file << " includes " << target);
    CHECK(kPureBase.contains(target));
  }
}

TEST_CASE("a third-party library is included only by its adapter", "[structure]") {
  for (const auto& [file, target] : all_includes()) {
    for (const auto& [library, adapters] : kAdapters) {
      if (!target.starts_with(library)) continue;
      INFO(file << " includes " << target);
      CHECK(adapters.contains(file));
    }
  }
}
