# Toolchain: compiles for arm64 on a machine of another architecture, with what `scripts/setup --architecture arm64` has
# provided.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

foreach(what sysroot prefix)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/setup --architecture arm64 --print-${what}
    OUTPUT_VARIABLE nervex_arm64_${what} OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(CMAKE_SYSROOT ${nervex_arm64_sysroot})
set(NERVEX_DEPS_PREFIX ${nervex_arm64_prefix})

# Libraries, headers and packages come only from there, programs (ccache, pkg-config) from this machine.
set(CMAKE_FIND_ROOT_PATH ${nervex_arm64_sysroot} ${nervex_arm64_prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${nervex_arm64_sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${nervex_arm64_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${nervex_arm64_sysroot}/usr/share/pkgconfig)
