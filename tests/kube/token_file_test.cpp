#include "kube/token_file.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/fake_clock.h"
#include "tests/support/temp_folder.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::TempFolder;

TEST_CASE("a token file is read again each minute", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  TokenFile token(folder.write("token", "first\n"), clock);
  CHECK(*token.get() == "first");
  folder.write("token", "second");
  clock.advance(59s);
  CHECK(*token.get() == "first");
  clock.advance(1s);
  CHECK(*token.get() == "second");
}

TEST_CASE("a token file is read again when the token was refused", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  TokenFile token(folder.write("token", "first"), clock);
  CHECK(*token.get() == "first");
  folder.write("token", "second");
  token.drop();
  CHECK(*token.get() == "second");
}

TEST_CASE("a token file that is gone or empty leaves the old token", "[kube][credentials]") {
  const TempFolder folder;
  FakeClock clock;
  TokenFile token(folder.path() + "/token", clock);
  CHECK(token.get().error().code == Code::kTransient);
  folder.write("token", "first");
  CHECK(*token.get() == "first");  // without waiting for a minute
  folder.write("token", "\n");
  clock.advance(60s);
  CHECK(*token.get() == "first");
  std::filesystem::remove(folder.path() + "/token");
  clock.advance(60s);
  CHECK(*token.get() == "first");
}

}  // namespace
}  // namespace nervex::kube
