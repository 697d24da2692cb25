# shellcheck shell=bash
# Which Debian packages and which Go build and tests need, and which are there? Sourced by scripts/setup, never run.

# What the build and the tests need from Debian 12 itself.
packages=(
  g++ cmake ninja-build make git ccache pkg-config
  nlohmann-json3-dev libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev libvalijson-dev
  libsimdjson-dev libjemalloc-dev libprotozero-dev libssl-dev prometheus-cpp-dev libbenchmark-dev
  clang-14 libclang-rt-14-dev clang-tidy-14 clang-format-14 shellcheck
  python3 python3-venv openssl curl ca-certificates xz-utils zsh fish lua5.1
)

go_minimum=1.21

debian_version_of() { dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p'; }

missing_packages() {
  local have
  have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort -u <<<"$have")
}

catch2_is_there() {
  local version
  version=$(debian_version_of catch2)
  [[ -n "$version" ]] && dpkg --compare-versions "$version" ge 3
}

go_is_there() {
  local version
  command -v go >/dev/null || return 1
  version=$(GOTOOLCHAIN=local go version 2>/dev/null | sed -n 's/^go version go\([0-9.]*\).*/\1/p')
  [[ -n "$version" ]] && dpkg --compare-versions "$version" ge "$go_minimum"
}
