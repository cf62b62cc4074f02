# find_package(shoal) gives shoal::shoal, the C++ API, with everything that it is linked with.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(OpenSSL)
find_dependency(ZLIB)
find_dependency(zstd)
find_dependency(tomlplusplus)
find_dependency(CURL)
find_dependency(nlohmann_json)
find_package(ucx QUIET)  # if it was built with it
find_dependency(Torch)
include("${CMAKE_CURRENT_LIST_DIR}/shoalTargets.cmake")
