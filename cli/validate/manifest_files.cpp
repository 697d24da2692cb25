#include "cli/validate/manifest_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "base/read_file.h"

namespace nervex::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = 16 << 20;

bool is_manifest(const fs::path& file) {
  const std::string kind = file.extension().string();
  return kind == ".yaml" || kind == ".yml" || kind == ".json";
}

// Like kubectl, does not follow links to folders, which may form cycles.
void collect_files(const fs::path& folder, std::vector<ManifestFile>& sources) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    entries.push_back(at->path());
  }
  if (failed) sources.push_back({folder.string(), failed.message()});
  std::sort(entries.begin(), entries.end());
  for (const auto& entry : entries) {
    std::error_code unknown;
    if (fs::is_directory(fs::symlink_status(entry, unknown))) {
      collect_files(entry, sources);
    } else if (is_manifest(entry)) {
      // Tries a broken link, to report its error. Skips pipes, which might never answer.
      const fs::file_status status = fs::status(entry, unknown);
      if (fs::is_regular_file(status) || !fs::exists(status)) sources.push_back({entry, ""});
    }
  }
}

}  // namespace

std::vector<ManifestFile> collect_manifest_files(const std::string& place) {
  std::error_code failed;
  if (place == "-" || !fs::is_directory(place, failed)) return {{place, ""}};
  std::vector<ManifestFile> sources;
  collect_files(place, sources);
  if (sources.empty()) return {{place, "it contains no .yaml, .yml or .json file"}};
  return sources;
}

Result<std::string> read_manifest_file(const std::string& file) {
  const Error too_large{Code::kInvalid, fmt::format("it is larger than {} MiB", kMaxBytes >> 20)};
  if (file == "-") {
    std::string text;
    char piece[1 << 16];
    std::size_t got = 0;
    while ((got = std::fread(piece, 1, sizeof piece, stdin)) > 0) {
      if (text.append(piece, got).size() > kMaxBytes) return too_large;
    }
    return text;
  }
  std::error_code unknown;
  const auto size = fs::file_size(file, unknown);
  if (!unknown && size > kMaxBytes) return too_large;
  auto text = read_file(file, kMaxBytes);
  if (text) return text;
  // The file's name is printed beside the error.
  Error error = text.error();
  const std::string prefix = fmt::format("cannot read {}: ", file);
  if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
  return error;
}

}  // namespace nervex::cli
