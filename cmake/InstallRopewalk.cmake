# What `cmake --install` copies: the program, and (component `library`) the libraries with their headers and a package that
# find_package(ropewalk) finds. examples/cmake_project uses it.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk)
install(TARGETS ropewalk_launcher RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
# The launcher looks there, whatever the other folders are called.
install(TARGETS ropewalk_cli RUNTIME DESTINATION libexec/ropewalk COMPONENT program)
install(TARGETS ropewalk_text ropewalk_core ropewalk EXPORT ropewalk
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/ropewalk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h" PATTERN cli EXCLUDE)
install(EXPORT ropewalk NAMESPACE ropewalk:: FILE ropewalkTargets.cmake DESTINATION ${package} COMPONENT library)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/ropewalkConfig.cmake.in
  ${CMAKE_BINARY_DIR}/generated/ropewalkConfig.cmake INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/ropewalkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/generated/ropewalkConfig.cmake
  ${CMAKE_BINARY_DIR}/generated/ropewalkConfigVersion.cmake
  ${CMAKE_SOURCE_DIR}/cmake/FindArrowWheel.cmake
  ${CMAKE_SOURCE_DIR}/cmake/FindTorchWheel.cmake
  DESTINATION ${package} COMPONENT library)
