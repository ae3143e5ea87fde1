# Finds Arrow C++ and Parquet inside the `pyarrow` wheel of Python3_EXECUTABLE, or where ArrowWheel_INCLUDE_DIR and the other
# variables say.
# Defines: ArrowWheel::parquet (imported), ArrowWheel_VERSION, ArrowWheel_INCLUDE_DIR, ArrowWheel_LIBRARY_DIR.
if(NOT ArrowWheel_INCLUDE_DIR)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
      "import pyarrow as p;print(';'.join([p.__version__,p.get_include(),p.get_library_dirs()[0]]))"
    OUTPUT_VARIABLE _arrow OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE _arrow_error RESULT_VARIABLE _arrow_rc)
  if(NOT _arrow_rc EQUAL 0)
    message(FATAL_ERROR "pyarrow was not found by ${Python3_EXECUTABLE}: run `make setup`.\n${_arrow_error}")
  endif()
  list(GET _arrow 0 ArrowWheel_VERSION)
  list(GET _arrow 1 ArrowWheel_INCLUDE_DIR)
  list(GET _arrow 2 ArrowWheel_LIBRARY_DIR)
endif()
# The wheel ships only versioned names (libarrow.so.2600), so they are linked by path.
file(GLOB _arrow_libraries ${ArrowWheel_LIBRARY_DIR}/libparquet.so.* ${ArrowWheel_LIBRARY_DIR}/libarrow.so.*)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowWheel REQUIRED_VARS ArrowWheel_INCLUDE_DIR _arrow_libraries
  VERSION_VAR ArrowWheel_VERSION)

if(NOT TARGET ArrowWheel::parquet)
  add_library(ArrowWheel::parquet INTERFACE IMPORTED)
  target_include_directories(ArrowWheel::parquet SYSTEM INTERFACE ${ArrowWheel_INCLUDE_DIR})
  target_link_libraries(ArrowWheel::parquet INTERFACE ${_arrow_libraries})
  target_link_options(ArrowWheel::parquet INTERFACE -Wl,-rpath,${ArrowWheel_LIBRARY_DIR})
endif()
