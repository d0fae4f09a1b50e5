# libstepscope_agent.so: the agent and the rooms under it, in one shared object that shows only its entry points.
#
# It is loaded into programs that know nothing of us: it needs no library but libc's and libstdc++'s (zstd is linked in
# as an archive), takes none of the program's symbols for its own (-Bsymbolic) and is never unloaded (nodelete: CUPTI
# and PyTorch keep pointers into it). Thread-local data is in the static block, see capture/thread_state.h.
include(GNUInstallDirs)

set(objects)
foreach(room base wire capture agent)
  list(APPEND objects $<TARGET_OBJECTS:stepscope_${room}>)
endforeach()
add_library(stepscope_agent_library SHARED ${objects})
set(map ${PROJECT_SOURCE_DIR}/src/agent/agent.map)
set_target_properties(
  stepscope_agent_library
  PROPERTIES OUTPUT_NAME stepscope_agent
             LINKER_LANGUAGE CXX
             LINK_DEPENDS ${map}
             LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/stepscope)
target_link_libraries(stepscope_agent_library PRIVATE Threads::Threads ${CMAKE_DL_LIBS} stepscope_zstd)
target_link_options(
  stepscope_agent_library
  PRIVATE
  -Wl,--version-script=${map}
  -Wl,-Bsymbolic
  -Wl,-z,nodelete
  -Wl,--exclude-libs,ALL)
if(NOT STEPSCOPE_SANITIZE)
  target_link_options(stepscope_agent_library PRIVATE -Wl,-z,defs)
endif()
stepscope_sanitize(stepscope_agent_library)

# CUPTI's headers, for the one test that compares ours with them (tools/cupti_headers.sh gets them).
find_path(STEPSCOPE_CUPTI_INCLUDE cupti.h PATHS ENV CUDA_HOME ${PROJECT_SOURCE_DIR}/build/cupti /usr/local/cuda
                                                /usr/local/cuda/extras/CUPTI PATH_SUFFIXES include)
if(STEPSCOPE_CUPTI_INCLUDE AND TARGET agent_test)
  set_source_files_properties(src/agent/cupti_abi_test.cpp PROPERTIES COMPILE_OPTIONS
                                                                      "-isystem;${STEPSCOPE_CUPTI_INCLUDE}")
endif()

# The program looks for it at ../lib/stepscope and at lib/stepscope beside itself (a build tree).
if(STEPSCOPE_INSTALL)
  install(TARGETS stepscope_agent_library LIBRARY DESTINATION lib/stepscope)
endif()

# The import hook of `stepscope run` and what it loads, for Python programs: beside the library in both trees.
foreach(file sitecustomize.py stepscope_memory.py stepscope_optimizers.py)
  set(hook ${PROJECT_SOURCE_DIR}/src/agent/python/${file})
  configure_file(${hook} ${PROJECT_BINARY_DIR}/lib/stepscope/python/${file} COPYONLY)
  if(STEPSCOPE_INSTALL)
    install(FILES ${hook} DESTINATION lib/stepscope/python)
  endif()
endforeach()
