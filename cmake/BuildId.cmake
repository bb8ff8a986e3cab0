# The build id: SHA-256 over what decides a worker's answers. Two uses of this file:
#
#   include(BuildId), then ampgate_build_id(FILE)   a rule that makes FILE (build_id.cpp) whenever a source has changed
#   cmake -P BuildId.cmake                          what that rule runs
#
# Taken in: all sources and data of the worker folders, compiler, flags, and LibTorch's build.
cmake_minimum_required(VERSION 3.24)

set(AMPGATE_BUILD_ID_FOLDERS precision backends cases validate bench results)
set(AMPGATE_BUILD_ID_SUFFIXES h cpp cu hip json safetensors)

function(ampgate_build_id output)
  set(patterns "")
  foreach(folder IN LISTS AMPGATE_BUILD_ID_FOLDERS)
    foreach(suffix IN LISTS AMPGATE_BUILD_ID_SUFFIXES)
      list(APPEND patterns "${folder}/*.${suffix}")
    endforeach()
  endforeach()
  list(TRANSFORM patterns PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/results/archive/")

  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} -fopenmp" flags)
  set(words "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR}, C++${CMAKE_CXX_STANDARD}, ${CMAKE_BUILD_TYPE}: ${flags}")

  # A wheel names its commit in version.py, an archive of LibTorch in build-hash.
  set(torch "${LibTorch_VERSION}")
  foreach(file "${LibTorch_ROOT_DIR}/version.py" "${LibTorch_ROOT_DIR}/build-hash")
    if(EXISTS "${file}")
      file(SHA256 "${file}" hash)
      string(APPEND torch " ${hash}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    endif()
  endforeach()

  list(JOIN sources "\n" lines)
  file(CONFIGURE OUTPUT "${output}.inputs" CONTENT "${words}\nLibTorch ${torch}\n${lines}\n" @ONLY)
  add_custom_command(OUTPUT "${output}.stamp" BYPRODUCTS "${output}"
    COMMAND ${CMAKE_COMMAND} -D "INPUTS=${output}.inputs" -D "ROOT=${PROJECT_SOURCE_DIR}" -D "OUTPUT=${output}"
      -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    COMMAND ${CMAKE_COMMAND} -E touch "${output}.stamp"
    DEPENDS ${sources} "${output}.inputs" "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    COMMENT "Build id" VERBATIM)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(STRINGS "${INPUTS}" lines)
  list(POP_FRONT lines words torch)
  list(SORT lines)
  set(content "${words}\n${torch}\n")
  foreach(source IN LISTS lines)
    file(SHA256 "${source}" hash)
    file(RELATIVE_PATH name "${ROOT}" "${source}")
    string(APPEND content "${name} ${hash}\n")
  endforeach()
  string(SHA256 id "${content}")
  string(REPLACE "\\" "\\\\" words "${words}")
  string(REPLACE "\"" "\\\"" words "${words}")
  # Written only where it differs, so that nothing is linked again for a changed time stamp.
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
#include "backends/build_id.h"

namespace ampgate::backends {

const char* build_id() { return "@id@"; }
const char* build_flags() { return "@words@"; }

}  // namespace ampgate::backends
]] @ONLY)
endif()
