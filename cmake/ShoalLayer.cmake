# How folders become targets: shoal_layer for a folder of src/, shoal_test for a test program.
include(GoogleTest)

# shoal_add_folders(DIR...)
# Adds those folders, in this order, that have a CMakeLists.txt. A folder that has none yet is watched, so that
# the build configures itself again when it gets one.
function(shoal_add_folders)
  foreach(folder IN LISTS ARGN)
    set(path "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
    if(EXISTS "${path}/CMakeLists.txt")
      add_subdirectory(${folder})
    else()
      while(NOT EXISTS "${path}")
        cmake_path(GET path PARENT_PATH path)
      endwhile()
      set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    endif()
  endforeach()
endfunction()

# shoal_layer(NAME [FOLDERS folder...] [GENERATED file...] [SOURCES file...] [DEPENDS layer...] [LIBRARIES target...]
#             [HEADERS target...] [COLD])
# Makes the library shoal_NAME (alias shoal::NAME) of all .cc files of this folder and of FOLDERS below it, and of files
# that the build GENERATES; or of SOURCES alone. DEPENDS names layers, LIBRARIES anything else that can be linked; both
# are passed on to whatever links this layer. HEADERS are libraries without a binary, for this layer's sources alone: an
# installed Shoal does not ask for them. A layer of headers alone becomes an INTERFACE library. COLD: its code runs
# seldom, and is not worth the time that -O2 takes to compile it.
function(shoal_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "FOLDERS;GENERATED;SOURCES;DEPENDS;LIBRARIES;HEADERS")
  shoal_reject_leftovers("shoal_layer(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_SOURCES)
    list(TRANSFORM arg_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE patterns)
    file(GLOB arg_SOURCES RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.cc" ${patterns})
    list(APPEND arg_SOURCES ${arg_GENERATED})
  endif()
  set(compiled ${arg_SOURCES})
  list(FILTER compiled INCLUDE REGEX "\\.cc$")
  if(compiled)
    set(type STATIC)
    set(scope PUBLIC)
  else()
    set(type INTERFACE)
    set(scope INTERFACE)
  endif()

  add_library(shoal_${name} ${type} ${arg_SOURCES})
  add_library(shoal::${name} ALIAS shoal_${name})
  shoal_include_directories(shoal_${name} ${scope})
  list(TRANSFORM arg_DEPENDS PREPEND "shoal::")
  list(TRANSFORM arg_HEADERS REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(shoal_${name} ${scope} ${arg_DEPENDS} ${arg_LIBRARIES})
  if(arg_HEADERS)
    target_link_libraries(shoal_${name} PRIVATE ${arg_HEADERS})
  endif()
  if(compiled)
    shoal_compile_in_batches(shoal_${name})
    if(arg_COLD)
      shoal_optimize_less(shoal_${name})
    else()
      shoal_precompile_layer_headers(shoal_${name})
    endif()
  endif()
endfunction()

# Its code runs seldom. g++ takes a precompiled header only where it is optimized alike.
function(shoal_optimize_less target)
  target_compile_options(${target} PRIVATE ${shoal_cold_flags})
  shoal_precompile_headers_in(shoal_cold_layer_headers ${target} ${shoal_cold_flags})
endfunction()

# Several files at a time: what headers cost is paid once, which is two fifths of the whole. clang++ compiles each by
# itself, as it does without precompiled headers.
function(shoal_compile_in_batches target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  # Frames of coroutines hold types of their file's own, which g++ takes for a header's.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# In the tree everything is included by its path below src/; who has Shoal installed sees only its public headers.
function(shoal_include_directories target scope)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:include>")
endfunction()

# What nearly every file includes is compiled once: it took half the time of a small one. clang++ compiles without,
# and so finds what a file forgot to include.
function(shoal_precompile_layer_headers target)
  shoal_precompile_headers_in(shoal_layer_headers ${target})
endfunction()

# shoal_precompile_headers_in(HOLDER TARGET [FLAG...]): HOLDER compiles the headers, with FLAGs, and TARGET uses them.
function(shoal_precompile_headers_in holder target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(NOT TARGET ${holder})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/layer_headers.cc" CONTENT "")
    add_library(${holder} STATIC "${PROJECT_BINARY_DIR}/layer_headers.cc")
    target_compile_options(${holder} PRIVATE ${ARGN})
    target_link_libraries(${holder} PRIVATE fmt::fmt)
    target_precompile_headers(${holder} PRIVATE
      <fmt/core.h> <algorithm> <array> <chrono> <coroutine> <cstddef> <cstdint> <cstring> <deque> <exception>
      <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()

# shoal_test(NAME SOURCES file... [DEPENDS layer...] [LIBRARIES target...] [LABELS label...] [TORCH] [EACH])
# Makes the GoogleTest program NAME and registers each of its tests; with TORCH it includes libtorch, which the folder
# has asked for; EACH: its files have private names in common, and are compiled each by itself. The label says where a
# test runs:
#   fast (the default)  milliseconds, no processes or clock; also runs under the sanitizers
#   live                real processes, files or time
#   slow                whole training runs and large swarms
function(shoal_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH;EACH" "" "SOURCES;DEPENDS;LIBRARIES;LABELS")
  shoal_reject_leftovers("shoal_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  shoal_test_timeout(timeout ${arg_LABELS})

  add_executable(${name} ${arg_SOURCES})
  if(NOT "fast" IN_LIST arg_LABELS)
    shoal_not_sanitized(${name})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  # To optimize GoogleTest's macros takes as long as all the rest, for nothing: the code under test is in the
  # layers. It also runs coroutines without optimization, where g++ once failed. Failures name their lines.
  target_compile_options(${name} PRIVATE ${shoal_test_flags})
  if(NOT arg_EACH)
    shoal_compile_in_batches(${name})
  endif()
  if(NOT arg_TORCH)
    shoal_precompile_test_headers(${name})
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND "shoal::")
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ${arg_LIBRARIES} fmt::fmt GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${timeout})
endfunction()

# shoal_test_objects(NAME SOURCES file... DEPENDS layer... [OPTIMIZED])
# What several test programs have in common, compiled once; they name it under LIBRARIES. OPTIMIZED: a world that
# thousands of seeds run in.
function(shoal_test_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "" "SOURCES;DEPENDS")
  shoal_reject_leftovers("shoal_test_objects(${name})" "${arg_UNPARSED_ARGUMENTS}")
  add_library(${name} OBJECT ${arg_SOURCES})
  # As programs are.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
  if(NOT arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE ${shoal_test_flags})
    shoal_precompile_test_headers(${name})
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND "shoal::")
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} fmt::fmt GTest::gmock GTest::gtest)
endfunction()

# What every test includes is compiled once: half the time of a test's file was GoogleTest's headers. Not so those of
# libtorch, whose headers set other macros: precompiling them takes longer than the few tests do that include them.
function(shoal_precompile_test_headers name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()  # clang wants the same definitions in all of them
  endif()
  if(NOT TARGET shoal_test_headers)
    # A program, because programs are compiled with other flags than libraries.
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_headers.cc" CONTENT "int main() {}\n")
    add_executable(shoal_test_headers "${PROJECT_BINARY_DIR}/test_headers.cc")
    target_compile_options(shoal_test_headers PRIVATE ${shoal_test_flags})
    target_link_libraries(shoal_test_headers PRIVATE fmt::fmt GTest::gmock GTest::gtest)
    target_precompile_headers(shoal_test_headers PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> <fmt/core.h> <functional> <map> <memory> <string> <vector>)
  endif()
  target_precompile_headers(${name} REUSE_FROM shoal_test_headers)
endfunction()

# shoal_script_test(NAME LABELS label... COMMAND program argument...)
# Registers a test that is a script; it passes when the script exits with 0.
function(shoal_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;LABELS")
  shoal_reject_leftovers("shoal_script_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  shoal_test_timeout(timeout ${arg_LABELS})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${timeout})
endfunction()

# shoal_not_sanitized(TARGET...): no test that runs under sanitizers needs it. It is built only when asked for.
function(shoal_not_sanitized)
  if(SHOAL_SANITIZE)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# A timeout is a backstop against hangs, far above what a test of this label may take.
function(shoal_test_timeout result)
  if("slow" IN_LIST ARGN)
    set(seconds 600)
  elseif("live" IN_LIST ARGN)
    set(seconds 300)
  elseif("fast" IN_LIST ARGN)
    set(seconds 60)
  else()
    message(FATAL_ERROR "a test needs one of the labels fast, live, slow; it has: ${ARGN}")
  endif()
  if(SHOAL_SANITIZE)
    math(EXPR seconds "${seconds} * 5")
  endif()
  set(${result} ${seconds} PARENT_SCOPE)
endfunction()

function(shoal_reject_leftovers where leftovers)
  if(leftovers)
    message(FATAL_ERROR "${where}: unknown arguments: ${leftovers}")
  endif()
endfunction()
