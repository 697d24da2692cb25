# nervex_library, nervex_program, nervex_test: how each folder declares what it builds.
#
#   nervex_library(<name> SOURCES ... [DEPENDS ...] [PRIVATE_DEPENDS ...])  -> target and nervex::<name>
#   nervex_program(<name> SOURCES ... DEPENDS ...)        also built by the target `programs`
#   nervex_test(<name> SOURCES ... DEPENDS ...)          needs NERVEX_DEV; one Catch2 program
#
# All targets share one precompiled header: JSON, fmt and the standard containers cost more to parse
# than most of our files.
add_library(nervex_pch OBJECT ${CMAKE_CURRENT_LIST_DIR}/pch.cpp)
target_link_libraries(nervex_pch PRIVATE nervex_options fmt::fmt nlohmann_json::nlohmann_json)
target_precompile_headers(nervex_pch PRIVATE <algorithm> <chrono> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)

# Eight files are compiled as one: a single file spends two thirds of its time on the same templates. So names
# in anonymous namespaces of one folder must differ. clang-tidy still reads every file by itself.
option(NERVEX_UNITY "Compile several files of a target as one" ON)

function(nervex_common target)
  target_link_libraries(${target} PRIVATE nervex_options fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(${target} REUSE_FROM nervex_pch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${NERVEX_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

function(nervex_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  add_library(nervex::${name} ALIAS ${name})
  target_link_libraries(${name} PUBLIC fmt::fmt nlohmann_json::nlohmann_json ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE_DEPENDS})
  nervex_common(${name})
endfunction()

add_custom_target(programs)

function(nervex_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  nervex_common(${name})
  add_dependencies(programs ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

function(nervex_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE Catch2::Catch2WithMain ${ARG_DEPENDS})
  target_compile_definitions(${name} PRIVATE
    NERVEX_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CATCH_CONFIG_ENABLE_ALL_STRINGMAKERS)
  nervex_common(${name})
  add_test(NAME ${name} COMMAND ${name} --order rand)
  # 4: Catch2 has skipped all of its tests, as those that count memory under a sanitizer.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 4)
endfunction()
