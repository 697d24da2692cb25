# Compiler flags of the whole project, carried by one interface target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# Without these two settings ccache skips everything that uses a precompiled header.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${CCACHE_PROGRAM})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

add_library(nervex_options INTERFACE)
target_include_directories(nervex_options INTERFACE ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR})
target_compile_options(nervex_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -fno-omit-frame-pointer -fPIE)
target_link_options(nervex_options INTERFACE -pie)  # -fPIE everywhere: one precompiled header fits all
# Macros such as __FILE__ name files from the root of the tree: programs of one commit are the same bytes in every folder
# (make release). Debuggers still find the sources by their whole paths.
target_compile_options(nervex_options INTERFACE
  -fmacro-prefix-map=${PROJECT_BINARY_DIR}/= -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(NERVEX_DEV)
  target_compile_options(nervex_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(nervex_options INTERFACE -Wthread-safety)
endif()

if(NERVEX_SANITIZE)
  target_compile_options(nervex_options INTERFACE
    -fsanitize=${NERVEX_SANITIZE} -fno-sanitize-recover=all)
  if(NERVEX_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # They triple the time of compilation. The address sanitizer stops at a null pointer and past an object's end.
    target_compile_options(nervex_options INTERFACE -fno-sanitize=null,alignment,vptr,object-size)
  endif()
  target_link_options(nervex_options INTERFACE -fsanitize=${NERVEX_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # with sanitizers g++ 12 warns of its own headers
    target_compile_options(nervex_options INTERFACE -Wno-maybe-uninitialized)
  endif()
else()
  # Hardening. It costs a few per cent and turns memory errors into clean crashes.
  target_compile_definitions(nervex_options INTERFACE
    _GLIBCXX_ASSERTIONS $<$<CONFIG:Release,RelWithDebInfo>:_FORTIFY_SOURCE=2>)
  target_compile_options(nervex_options INTERFACE -fstack-protector-strong)
  target_link_options(nervex_options INTERFACE -Wl,-z,relro,-z,now)
endif()
