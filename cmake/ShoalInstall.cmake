# What `cmake --install` gives to users of the C++ API: headers, static libraries, and the package that
# find_package(shoal) finds. bin/shoal and its plugin are installed where they are made.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# shoal_install_package(TARGET)
# Installs TARGET, which users link, and those layers that it is made of: what else is in the tree would only add to
# what they need.
function(shoal_install_package target)
  set(layers ${target})
  shoal_collect_layers(layers ${target})
  install(TARGETS ${layers} EXPORT shoal ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/shoal")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/shoal" DESTINATION include)

  set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/shoal")
  install(EXPORT shoal NAMESPACE shoal:: DESTINATION "${folder}" FILE shoalTargets.cmake)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/shoalConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/shoalConfig.cmake" "${PROJECT_BINARY_DIR}/shoalConfigVersion.cmake"
    DESTINATION "${folder}")
endfunction()

# Adds to RESULT the layers of this tree that `target` links, and those that they link.
function(shoal_collect_layers result target)
  get_target_property(linked ${target} LINK_LIBRARIES)
  foreach(name IN LISTS linked)
    if(NOT name MATCHES "^shoal(::|_)")
      continue()
    endif()
    get_target_property(layer ${name} ALIASED_TARGET)
    if(NOT layer)
      set(layer ${name})
    endif()
    if(NOT layer IN_LIST ${result})
      list(APPEND ${result} ${layer})
      shoal_collect_layers(${result} ${layer})
    endif()
  endforeach()
  set(${result} ${${result}} PARENT_SCOPE)
endfunction()
