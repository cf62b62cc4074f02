# Compiler flags and output folders, the same for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The torch plugin links the static layers into a shared object.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# ccache, where it is installed: a clean clone of the same sources compiles nothing. Paths below the source folder are
# hashed as relative ones, so that clones in different folders share their objects.
find_program(SHOAL_CCACHE ccache)
if(SHOAL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${SHOAL_CCACHE}")
endif()

# No NDEBUG: checks stay on in release. -g1 keeps line numbers in stack traces at a small cost.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(shoal_test_flags -O0 $<$<CONFIG:Release>:-g0>)  # of test programs: see shoal_test
set(shoal_cold_flags -O1)  # of layers whose code runs seldom

add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # Contraction into FMA would make results depend on the compiler's mood; where FMA is wanted, std::fma says so.
  -ffp-contract=off
  # Messages name files by their path in the tree. So do objects, which ccache can then share between clones.
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # ccache needs to see which precompiled header a file uses.
  add_compile_options(-fpch-preprocess)
  # A test's file with its precompiled header just passes g++'s threshold for collecting garbage, which takes a
  # seventh of its time and frees nothing.
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()

if(SHOAL_SANITIZE STREQUAL "asan-ubsan")
  set(shoal_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(SHOAL_SANITIZE STREQUAL "tsan")
  set(shoal_sanitize_flags -fsanitize=thread)
elseif(NOT SHOAL_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SHOAL_SANITIZE=${SHOAL_SANITIZE} is unknown; use asan-ubsan, tsan or nothing")
endif()
if(shoal_sanitize_flags)
  # Instrumented code takes long to optimize: -O1 halves that, and runs fast enough; what runs seldom is not optimized.
  # Stack traces need lines (-g1), not types and variables, which take a quarter of the time.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
  set(shoal_test_flags -O0)
  set(shoal_cold_flags -O0)
  add_compile_options(${shoal_sanitize_flags} -fno-omit-frame-pointer)
  # In instrumented code g++ sees uses of memory that are not there; the release build has these warnings.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  add_link_options(${shoal_sanitize_flags})
endif()

# lld links five times as fast as the default linker; there are fifty programs.
find_program(SHOAL_LLD ld.lld)
if(SHOAL_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# bin/shoal finds its plugin in ../lib/shoal, in the build tree as after an installation.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(SHOAL_PLUGIN_DIRECTORY "${PROJECT_BINARY_DIR}/lib/shoal")
