# LibTorch as imported targets of our own. find_package(Torch) insists on a CUDA toolkit that fits the wheel even where
# no CUDA is wanted, and imposes architectures that newer toolkits refuse.
#
#   LibTorch::cpu   headers, torch_cpu and c10: all that the workers link
#   LibTorch::cuda  torch_cuda and c10_cuda, where the build has them: for the GPU modules alone
#   LibTorch_VERSION, LibTorch_ROOT_DIR, LibTorch_HAS_CUDA, LibTorch_HAS_ROCM

if(AMPGATE_TORCH_ROOT)
  set(LibTorch_ROOT_DIR "${AMPGATE_TORCH_ROOT}")
else()
  execute_process(
    COMMAND "${AMPGATE_PYTHON}" -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE LibTorch_ROOT_DIR OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _result ERROR_QUIET)
  if(NOT _result EQUAL 0)
    message(FATAL_ERROR "No torch package in '${AMPGATE_PYTHON}'. Run scripts/bootstrap, or pass -DAMPGATE_TORCH_ROOT=FOLDER (the one with include/ and lib/).")
  endif()
endif()

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h HINTS "${LibTorch_ROOT_DIR}/include" NO_DEFAULT_PATH NO_CACHE)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH NO_CACHE)
find_library(LibTorch_C10_LIBRARY c10 HINTS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH NO_CACHE)

set(LibTorch_VERSION "")
if(EXISTS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
  set(_version_header "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
else()
  set(_version_header "${LibTorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h")
endif()
if(EXISTS "${_version_header}")
  file(STRINGS "${_version_header}" _lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  set(_parts "")
  foreach(_line IN LISTS _lines)
    string(REGEX REPLACE ".* ([0-9]+).*" "\\1" _part "${_line}")
    list(APPEND _parts "${_part}")
  endforeach()
  list(JOIN _parts "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR LibTorch_VERSION
  VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::c10 UNKNOWN IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION "${LibTorch_C10_LIBRARY}")
  add_library(LibTorch::cpu UNKNOWN IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION "${LibTorch_CPU_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES LibTorch::c10)

  find_library(LibTorch_CUDA_LIBRARY torch_cuda HINTS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH NO_CACHE)
  find_library(LibTorch_C10_CUDA_LIBRARY c10_cuda HINTS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH NO_CACHE)
  find_library(LibTorch_HIP_LIBRARY torch_hip HINTS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH NO_CACHE)
  set(LibTorch_HAS_CUDA FALSE)
  set(LibTorch_HAS_ROCM FALSE)
  if(LibTorch_CUDA_LIBRARY AND LibTorch_C10_CUDA_LIBRARY)
    set(LibTorch_HAS_CUDA TRUE)
    add_library(LibTorch::c10_cuda UNKNOWN IMPORTED)
    set_target_properties(LibTorch::c10_cuda PROPERTIES IMPORTED_LOCATION "${LibTorch_C10_CUDA_LIBRARY}")
    add_library(LibTorch::cuda UNKNOWN IMPORTED)
    set_target_properties(LibTorch::cuda PROPERTIES
      IMPORTED_LOCATION "${LibTorch_CUDA_LIBRARY}"
      INTERFACE_LINK_LIBRARIES "LibTorch::cpu;LibTorch::c10_cuda")
  elseif(LibTorch_HIP_LIBRARY)
    set(LibTorch_HAS_ROCM TRUE)
    add_library(LibTorch::hip UNKNOWN IMPORTED)
    set_target_properties(LibTorch::hip PROPERTIES
      IMPORTED_LOCATION "${LibTorch_HIP_LIBRARY}" INTERFACE_LINK_LIBRARIES LibTorch::cpu)
  endif()
endif()
