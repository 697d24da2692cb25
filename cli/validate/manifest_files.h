// cli/validate/manifest_files.h - which files does a user mean by -f, and what do they hold?
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"

namespace nervex::cli {

struct ManifestFile {
  std::string file;     // or an unreadable folder; "-": standard input
  std::string problem;  // why it cannot be read; "" if nothing is known against it
};

// The files in a folder and below that kubectl would read, sorted by name; or the file itself.
std::vector<ManifestFile> collect_manifest_files(const std::string& place);

// Its text, at most 16 MiB. The error does not name the file.
Result<std::string> read_manifest_file(const std::string& file);

}  // namespace nervex::cli
