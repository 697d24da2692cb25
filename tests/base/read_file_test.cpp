#include "base/read_file.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temp_folder.h"

namespace nervex {
namespace {

TEST_CASE("A file is read whole, with any bytes", "[base][file]") {
  const testing::TempFolder folder;
  std::string text("a\0b\n", 4);
  text.resize(10'000, 'x');
  const auto read = read_file(folder.write("some", text));
  REQUIRE(read);
  CHECK(*read == text);
}

TEST_CASE("An unreadable file is named, with the reason", "[base][file]") {
  const testing::TempFolder folder;
  const auto message = [](const std::string& path, std::size_t max_bytes = 1 << 20) {
    const auto read = read_file(path, max_bytes);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalid);
    return read.error().message;
  };
  CHECK(message(folder.path()) == "cannot read " + folder.path() + ": Is a directory");
  CHECK(message(folder.path() + "/none") ==
        "cannot read " + folder.path() + "/none: No such file or directory");
  CHECK(message("/dev/zero") == "cannot read /dev/zero: it is too large");
}

}  // namespace
}  // namespace nervex
