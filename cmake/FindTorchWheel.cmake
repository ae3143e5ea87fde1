# Finds libtorch inside the `torch` wheel of Python3_EXECUTABLE, or where TorchWheel_ROOT and the other variables say.
#
# The wheel's own TorchConfig.cmake insists on a CUDA toolkit when the wheel was built with CUDA; this
# module links only what is asked for, so a CUDA wheel also builds the CPU program.
#
# Defines: TorchWheel::torch (imported), TorchWheel::headers (its headers alone, fmt's among them),
# TorchWheel_VERSION, TorchWheel_CUDA_VERSION (empty on CPU builds), TorchWheel_CXX11_ABI, TorchWheel_HAS_CUDA.
if(NOT TorchWheel_ROOT)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
      "import torch,os;print(';'.join([os.path.dirname(torch.__file__),torch.__version__,torch.version.cuda or '',str(int(torch._C._GLIBCXX_USE_CXX11_ABI))]))"
    OUTPUT_VARIABLE _torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE _torch_error RESULT_VARIABLE _torch_rc)
  if(NOT _torch_rc EQUAL 0)
    message(FATAL_ERROR "torch was not found by ${Python3_EXECUTABLE}: run `make setup`.\n${_torch_error}")
  endif()
  list(GET _torch 0 TorchWheel_ROOT)
  list(GET _torch 1 TorchWheel_VERSION)
  list(GET _torch 2 TorchWheel_CUDA_VERSION)
  list(GET _torch 3 TorchWheel_CXX11_ABI)
endif()

set(_torch_lib ${TorchWheel_ROOT}/lib)
set(TorchWheel_HAS_CUDA OFF)
if(EXISTS ${_torch_lib}/libtorch_cuda.so)
  set(TorchWheel_HAS_CUDA ON)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchWheel REQUIRED_VARS TorchWheel_ROOT VERSION_VAR TorchWheel_VERSION)

if(NOT TARGET TorchWheel::torch)
  add_library(TorchWheel::headers INTERFACE IMPORTED)
  target_include_directories(TorchWheel::headers SYSTEM INTERFACE
    ${TorchWheel_ROOT}/include ${TorchWheel_ROOT}/include/torch/csrc/api/include)
  target_compile_definitions(TorchWheel::headers INTERFACE _GLIBCXX_USE_CXX11_ABI=${TorchWheel_CXX11_ABI})
  add_library(TorchWheel::torch INTERFACE IMPORTED)
  target_link_libraries(TorchWheel::torch INTERFACE TorchWheel::headers)
  target_link_directories(TorchWheel::torch INTERFACE ${_torch_lib})
  # libtorch.so itself holds nothing; torch_cpu and c10 are what a CPU program calls.
  target_link_libraries(TorchWheel::torch INTERFACE
    ${_torch_lib}/libtorch_cpu.so ${_torch_lib}/libc10.so)
  # at::parallel_for is compiled into whoever calls it, and runs on one thread without -fopenmp. The wheel brings
  # the OpenMP library that torch itself uses; a second one would keep threads of its own.
  target_compile_options(TorchWheel::headers INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fopenmp>)
  file(GLOB _torch_gomp ${_torch_lib}/libgomp*.so*)
  if(NOT _torch_gomp)
    set(_torch_gomp -fopenmp)
  endif()
  target_link_libraries(TorchWheel::torch INTERFACE ${_torch_gomp})
  if(TorchWheel_HAS_CUDA)
    # Registers the CUDA kernels at start; --no-as-needed because no symbol of it is named.
    target_link_libraries(TorchWheel::torch INTERFACE
      -Wl,--no-as-needed ${_torch_lib}/libtorch_cuda.so -Wl,--as-needed ${_torch_lib}/libc10_cuda.so)
  endif()
  target_link_options(TorchWheel::torch INTERFACE -Wl,-rpath,${_torch_lib})
endif()
