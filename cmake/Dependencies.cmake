# The project's libraries, with the oldest tested versions (reasons:
# docs/adr/2026-11-21-libraries.md). Nothing is downloaded here: scripts/setup provides what the system lacks and
# scripts/setup --print-prefix tells where.
if(NOT DEFINED NERVEX_DEPS_PREFIX)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/setup --print-prefix
    OUTPUT_VARIABLE NERVEX_DEPS_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
list(PREPEND CMAKE_PREFIX_PATH ${NERVEX_DEPS_PREFIX})

find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(httplib 0.41 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson>=3.0)
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core>=1.0)
find_library(JEMALLOC_LIBRARY libjemalloc_pic.a REQUIRED)
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)

find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)

add_library(nervex_protozero INTERFACE)
target_include_directories(nervex_protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE_DIR})

add_library(nervex_valijson INTERFACE)
target_include_directories(nervex_valijson SYSTEM INTERFACE ${VALIJSON_INCLUDE_DIR})
target_compile_definitions(nervex_valijson INTERFACE VALIJSON_USE_EXCEPTIONS=1)

# malloc for a program, in the program itself: all images share one layer of libraries. Sanitizers have one of their own.
add_library(nervex_jemalloc INTERFACE)
if(NOT NERVEX_SANITIZE)
  target_link_libraries(nervex_jemalloc INTERFACE ${JEMALLOC_LIBRARY} Threads::Threads)
endif()

if(NERVEX_DEV)
  find_package(Catch2 3 REQUIRED)
endif()
