# Targets that use LibTorch: the same flags everywhere, so that one precompiled header serves them all.
# -fopenmp: at::parallel_for in our own code silently runs on one thread without it.
# The runtime is LibTorch's own copy where it brings one: two OpenMP runtimes in a process would fight for the cores.
find_library(LibTorch_GOMP_LIBRARY NAMES libgomp.so.1 HINTS "${LibTorch_ROOT_DIR}/lib" NO_DEFAULT_PATH NO_CACHE)
if(NOT LibTorch_GOMP_LIBRARY)
  set(LibTorch_GOMP_LIBRARY gomp)
endif()

add_library(ampgate_torch_options INTERFACE)
target_compile_options(ampgate_torch_options INTERFACE -fopenmp)
target_link_libraries(ampgate_torch_options INTERFACE ampgate_options LibTorch::cpu "${LibTorch_GOMP_LIBRARY}"
  nlohmann_json::nlohmann_json)

add_library(ampgate_pch OBJECT "${PROJECT_SOURCE_DIR}/cmake/pch.cpp")
target_link_libraries(ampgate_pch PRIVATE ampgate_torch_options)
target_precompile_headers(ampgate_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/pch.h")

# ampgate_torch_target(TARGET): compile TARGET with LibTorch and the precompiled header.
function(ampgate_torch_target target)
  target_link_libraries(${target} PUBLIC ampgate_torch_options)
  # CMake compiles programs with -fPIE and libraries with -fPIC, and a precompiled header serves one of the two.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # First what a bundle brings (scripts/bundle), then where LibTorch is on this machine.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF
      INSTALL_RPATH "$ORIGIN/../../../lib/torch/lib;$ORIGIN/../../../lib;${LibTorch_ROOT_DIR}/lib")
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ampgate_pch)
endfunction()
