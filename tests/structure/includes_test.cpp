// tests/structure/includes_test.cpp - do the includes follow the arrows of docs/architecture.md?
#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace {

namespace fs = std::filesystem;

// What each folder, or one file of it, may include of ours. Programs never include each other.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {"base"}},
    {"kube/model", {"kube/model", "base"}},
    {"kube", {"kube", "kube/model", "base"}},
    {"job", {"job", "kube/model", "base"}},
    {"gang", {"gang", "kube/model", "base"}},
    {"schemas", {"schemas"}},
    {"webhook", {"webhook", "schemas", "job", "gang", "kube", "kube/model", "base"}},
    {"extender", {"extender", "gang", "kube", "kube/model", "base"}},
    {"controller",
     {"controller", "controller/observe", "controller/decide", "controller/act", "kube", "base"}},
    {"controller/observe",
     {"controller/observe", "controller/decide", "job", "gang", "kube", "kube/model", "base"}},
    {"controller/decide", {"controller/decide", "job", "gang", "kube", "kube/model", "base"}},
    {"controller/act",
     {"controller/act", "controller/observe", "controller/decide", "job", "gang", "kube",
      "kube/model", "base"}},
    {"server", {"server", "server/decide", "job", "gang", "kube", "kube/model", "base"}},
    {"server/decide", {"server/decide", "job", "gang", "kube/model", "base"}},
    {"server/http",
     {"server/http", "server", "server/decide", "job", "gang", "kube", "kube/model", "base"}},
    {"server/main.cpp",
     {"server", "server/http", "kube", "base"}},  // nothing else there knows http
    {"certs", {"certs", "kube", "kube/model", "base"}},
    {"cli", {"cli", "certs", "job", "gang", "kube", "kube/model", "base"}},
};

// Of base, the pure folders may use only values: no I/O, threads or logging.
const std::set<std::string> kPureBase = {"base/clock.h", "base/duration.h", "base/error.h",
                                         "base/text.h"};

// Libraries that only the named files may include: one adapter each.
const std::map<std::string, std::set<std::string>> kAdapters = {
    {"httplib.h", {"base/http_exchange.cpp"}},
    {"valijson/", {"webhook/schema_check.cpp"}},
    {"yaml-cpp/", {"kube/config.cpp"}},
    {"prometheus/", {"base/metrics.cpp"}},
};

struct Include {
  std::string file;    // relative to the source directory
  std::string target;  // as written
};

std::vector<Include> includes_of(const fs::path& root, const std::string& folder) {
  static const std::regex pattern(R"re(^\s*#include\s+["<]([^">]+)[">])re");
  std::vector<Include> found;
  for (const auto& entry : fs::directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    std::ifstream in(entry.path());
    std::smatch match;
    for (std::string line; std::getline(in, line);) {
      if (std::regex_search(line, match, pattern)) {
        found.push_back({folder + "/" + entry.path().filename().string(), match[1]});
      }
    }
  }
  return found;
}

std::vector<Include> all_includes() {
  std::vector<Include> all;
  for (const auto& [folder, allowed] : kMayInclude) {
    if (!fs::is_directory(fs::path(NERVEX_SOURCE_DIR) / folder)) continue;
    const auto more = includes_of(NERVEX_SOURCE_DIR, folder);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

const std::set<std::string>& allowed_to(const std::string& file) {
  const auto own = kMayInclude.find(file);
  return own != kMayInclude.end() ? own->second : kMayInclude.at(folder_of(file));
}

}  // namespace

TEST_CASE("every folder includes only what stands before it", "[structure]") {
  const auto includes = all_includes();
  REQUIRE(includes.size() > 100);  // else the search itself is broken
  for (const auto& [file, target] : includes) {
    if (!kMayInclude.contains(folder_of(target))) continue;  // a library's header
    INFO(file << " includes " << target);
    CHECK(allowed_to(file).contains(folder_of(target)));
  }
}

TEST_CASE("pure folders use values of base, never its I/O", "[structure]") {
  for (const auto& [file, target] : all_includes()) {
    const std::string folder = folder_of(file);
    static const std::set<std::string> kPure = {"kube/model", "job", "gang", "controller/decide",
                                                "server/decide"};
    if (!kPure.contains(folder)) continue;
    if (folder_of(target) != "base") continue;
    INFO(file << " includes " << target);
    CHECK(kPureBase.contains(target));
  }
}

TEST_CASE("a library with hazards is included by its adapter alone", "[structure]") {
  for (const auto& [file, target] : all_includes()) {
    for (const auto& [library, adapters] : kAdapters) {
      if (!target.starts_with(library)) continue;
      INFO(file << " includes " << target);
      CHECK(adapters.contains(file));
    }
  }
}
