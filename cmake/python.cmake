# The Python module `stepscope._core` and the layout of the package, the same in the build tree (build/*/python), in an
# install (component python) and in a wheel:
#
#   stepscope/*.py, py.typed      the package
#   stepscope/_core.abi3.so       this module
#   stepscope/bin/stepscope       the program
#   stepscope/lib/stepscope/      the agent and the import hook, where the program looks for them
#
# One module for CPython 3.10 and later: nanobind's split mode keeps what depends on the version of Python in the
# package nanobind-backend, which is installed beside ours.
function(stepscope_python_module name)
  cmake_parse_arguments(room "" "" "DEPENDS;LIBRARIES" ${ARGN})
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  # A free-threaded build loads no module of the stable ABI before 3.15's own, and the package was tried on none.
  if(Python_SOABI MATCHES "[0-9]t-")
    message(FATAL_ERROR "Free-threaded CPython (${Python_SOABI}) is not supported: take python${Python_VERSION_MAJOR}."
                        "${Python_VERSION_MINOR} with its lock. The program alone needs no Python: -DSTEPSCOPE_BUILD_PYTHON=OFF.")
  endif()
  execute_process(
    COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind 3.1 CONFIG REQUIRED)

  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  nanobind_add_module(_core BACKEND_MODULE nanobind_backend NB_SUPPRESS_WARNINGS ${sources})
  foreach(room ${room_DEPENDS})
    if(TARGET stepscope_${room}) # a room of headers alone has no library
      target_link_libraries(_core PRIVATE stepscope_${room})
    endif()
  endforeach()
  target_link_libraries(_core PRIVATE ${room_LIBRARIES})
  # Nothing but the module's entry: other modules in the process may hold another Stepscope.
  target_link_options(_core PRIVATE -Wl,--exclude-libs,ALL)

  set(package ${PROJECT_BINARY_DIR}/python/stepscope)
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
  set(from ${PROJECT_SOURCE_DIR}/python/stepscope)
  # Links, so that an edit needs no build.
  add_custom_target(
    stepscope_python ALL
    COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DINTO=${package} -DBIN=$<TARGET_FILE:stepscope>
            -DLIB=${PROJECT_BINARY_DIR}/lib/stepscope -P ${PROJECT_SOURCE_DIR}/cmake/link_python_package.cmake
    DEPENDS _core stepscope stepscope_agent_library)

  install(TARGETS _core LIBRARY DESTINATION stepscope COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS stepscope RUNTIME DESTINATION stepscope/bin COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS stepscope_agent_library LIBRARY DESTINATION stepscope/lib/stepscope COMPONENT python EXCLUDE_FROM_ALL)
  file(GLOB hooks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/agent/python/*.py)
  install(FILES ${hooks} DESTINATION stepscope/lib/stepscope/python COMPONENT python EXCLUDE_FROM_ALL)
  # A wheel gets the Python files from scikit-build-core.
  if(NOT SKBUILD)
    install(DIRECTORY ${from}/ DESTINATION stepscope COMPONENT python EXCLUDE_FROM_ALL
            PATTERN __pycache__ EXCLUDE)
  endif()
endfunction()
