# The C++ library that programs link: the rooms that work without files of other tools, as one archive (or one shared
# object with BUILD_SHARED_LIBS), its public headers and its package files.
#
# One archive instead of one for each room, so that the rooms stay an inner matter; needs only threads, zlib and dl.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(STEPSCOPE_LIBRARY_ROOMS base stats timing wire capture trace efficiency export session)
set(objects)
foreach(room ${STEPSCOPE_LIBRARY_ROOMS})
  if(TARGET stepscope_${room})
    list(APPEND objects $<TARGET_OBJECTS:stepscope_${room}>)
  endif()
endforeach()

add_library(stepscope_library ${objects})
add_library(stepscope::stepscope ALIAS stepscope_library)
set_target_properties(
  stepscope_library
  PROPERTIES OUTPUT_NAME stepscope
             EXPORT_NAME stepscope
             LINKER_LANGUAGE CXX
             VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(stepscope_library PUBLIC cxx_std_20)
target_include_directories(stepscope_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(stepscope_library PUBLIC Threads::Threads PRIVATE ZLIB::ZLIB ${CMAKE_DL_LIBS}
                                                            $<BUILD_INTERFACE:stepscope_zstd>)
# Functions of Debian's libzstd.a can be linked into a shared object only where they cannot be seen from outside.
get_target_property(library_type stepscope_library TYPE)
if(library_type STREQUAL "SHARED_LIBRARY")
  target_link_options(stepscope_library PRIVATE LINKER:--exclude-libs,libzstd.a)
endif()
stepscope_sanitize(stepscope_library)

if(NOT STEPSCOPE_INSTALL)
  return()
endif()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/stepscope)
install(
  TARGETS stepscope_library
  EXPORT stepscope
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/stepscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT stepscope NAMESPACE stepscope:: FILE stepscope-targets.cmake DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/stepscope-config.cmake.in
                              ${PROJECT_BINARY_DIR}/stepscope-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stepscope-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stepscope-config.cmake ${PROJECT_BINARY_DIR}/stepscope-config-version.cmake
        DESTINATION ${package})
