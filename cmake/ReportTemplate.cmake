# Sets ROPEWALK_REPORT_TEMPLATE to the file that report/ is built into, or to nothing where ROPEWALK_REPORT is
# OFF, or AUTO without Node or without its packages (tools/setup.sh installs both).
set(ROPEWALK_REPORT_TEMPLATE "" CACHE INTERNAL "The report's page")
if(NOT ROPEWALK_REPORT STREQUAL "OFF")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/find_node.sh
    OUTPUT_VARIABLE ROPEWALK_NODE_FOLDER OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(report ${CMAKE_SOURCE_DIR}/report)
  set(missing "")
  if(NOT ROPEWALK_NODE_FOLDER)
    set(missing "no Node 20.19 or later")
  elseif(NOT EXISTS ${report}/node_modules/vite/bin/vite.js)
    set(missing "report/node_modules is missing")
  endif()
  if(missing AND ROPEWALK_REPORT STREQUAL "ON")
    message(FATAL_ERROR "ROPEWALK_REPORT is ON, but ${missing}; run tools/setup.sh")
  elseif(missing)
    message(STATUS "Building without the report: ${missing}; tools/setup.sh installs it")
  else()
    set(ROPEWALK_NODE ${ROPEWALK_NODE_FOLDER}/node CACHE INTERNAL "Node that builds and tests the report")
    set(ROPEWALK_REPORT_TEMPLATE ${CMAKE_BINARY_DIR}/generated/report/index.html CACHE INTERNAL "The report's page")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${report}/src/*)
    add_custom_command(OUTPUT ${ROPEWALK_REPORT_TEMPLATE}
      COMMAND ${ROPEWALK_NODE} node_modules/typescript/bin/tsc
      COMMAND ${ROPEWALK_NODE} node_modules/vite/bin/vite.js build --logLevel warn --emptyOutDir
              --outDir ${CMAKE_BINARY_DIR}/generated/report
      DEPENDS ${sources} ${report}/index.html ${report}/vite.config.ts ${report}/tsconfig.json
              ${report}/package-lock.json
      WORKING_DIRECTORY ${report} COMMENT "Building the report's page" VERBATIM)
    add_custom_target(ropewalk_report_page DEPENDS ${ROPEWALK_REPORT_TEMPLATE})
    add_dependencies(ropewalk ropewalk_report_page)
  endif()
endif()
