# Libraries that the tree can be built without.

# shoal_find_optional(RESULT OPTION PACKAGE DEBIAN_PACKAGE)
# Sets RESULT in the caller to whether PACKAGE shall be used: OPTION is the user's wish (AUTO, ON, OFF). The
# search runs in a function, because some packages (Torch) set many variables that are no business of ours.
function(shoal_find_optional result option package debian_package)
  set(wish "${${option}}")
  set(${result} FALSE PARENT_SCOPE)
  if(wish STREQUAL "OFF")
    message(STATUS "${package}: left out (${option}=OFF)")
    return()
  elseif(NOT wish MATCHES "^(AUTO|ON)$")
    message(FATAL_ERROR "${option}=${wish} is unknown; use AUTO, ON or OFF")
  endif()

  find_package(${package} QUIET)
  if(${package}_FOUND)
    message(STATUS "${package}: used, version ${${package}_VERSION}")
    set(${result} TRUE PARENT_SCOPE)
  elseif(wish STREQUAL "ON")
    message(FATAL_ERROR "${option}=ON, but ${package} was not found: apt-get install ${debian_package}")
  else()
    message(STATUS "${package}: not found, left out (apt-get install ${debian_package} to have it)")
  endif()
endfunction()
