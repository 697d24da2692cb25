// certs/files.h - certificates in a folder, for those who bring them into a cluster themselves.
#pragma once

#include <string>

#include "base/error.h"
#include "certs/plan.h"

namespace nervex::certs {

// What the folder holds: ca.crt (every trusted authority, the newest first), ca.key, tls.crt,
// tls.key. Files that are not there are left out; kInvalid: one is there and cannot be read.
Result<StoredCerts> read_folder(const std::string& folder);

// Writes all four, each whole or not at all, readable for this user only, whatever lay in its place
// (NAME.new too, which is used on the way). Makes the folder.
Result<Nothing> write_folder(const std::string& folder, const StoredCerts& certs);

}  // namespace nervex::certs
