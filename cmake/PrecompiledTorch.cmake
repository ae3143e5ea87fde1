# Torch's headers take longer to read than everything else together, and precompiled ones still cost seconds in every
# source. So they are given to the sources that see them, by their own includes or those of our headers, and to no other.

# ropewalk_includes_torch(file result): whether a file of ours includes kernels/torch.h, itself or through headers of ours.
function(ropewalk_includes_torch file result)
  get_property(known GLOBAL PROPERTY ropewalk_includes_torch_${file})
  if("${known}" STREQUAL "")
    set(known OFF)
    set_property(GLOBAL PROPERTY ropewalk_includes_torch_${file} OFF)  # headers do not include each other in circles
    file(STRINGS ${file} includes REGEX "^#include \"(ropewalk|tests|python)/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" name "${line}")
      if(name STREQUAL "ropewalk/kernels/torch.h")
        set(known ON)
      elseif(EXISTS ${CMAKE_SOURCE_DIR}/${name})
        ropewalk_includes_torch(${CMAKE_SOURCE_DIR}/${name} known)
      endif()
      if(known)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY ropewalk_includes_torch_${file} ${known})
  endif()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# ropewalk_skip_torch(target): the sources of a target that never see torch do without its precompiled header.
function(ropewalk_skip_torch target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE file)
    ropewalk_includes_torch(${file} includes)
    if(NOT includes)
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
