# Everything that the project takes from elsewhere, with the oldest version that is tested (Debian 12's) in one place.
# The Debian package names of these stand in tools/packages.txt.
set(CMAKE_THREAD_PREFER_PTHREAD ON)
find_package(Threads REQUIRED)

# Several of these count every minor release as incompatible in their own config files, so the least version is
# checked here instead.
macro(stepscope_find_package name version)
  find_package(${name} REQUIRED)
  if(${name}_VERSION VERSION_LESS ${version})
    message(FATAL_ERROR "${name} ${version} or newer is needed, found ${${name}_VERSION}")
  endif()
endmacro()
find_package(ZLIB 1.2.13 REQUIRED)

# Libraries whose Debian packages ship no CMake config in every release.
function(stepscope_find_library target header library)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
  if(library)
    find_library(${target}_LIBRARY ${library} REQUIRED)
    target_link_libraries(${target} INTERFACE ${${target}_LIBRARY})
  endif()
endfunction()
stepscope_find_library(stepscope_robin_map tsl/robin_map.h "") # >= 1.2.1
stepscope_find_library(stepscope_xxhash xxhash.h "")           # >= 0.8.1, used header-only
stepscope_find_library(stepscope_zstd zstd.h libzstd.a)        # >= 1.5.4, static: the agent may need no library of its own

if(STEPSCOPE_BUILD_PROGRAM)
  stepscope_find_package(simdjson 3.0.1)
  stepscope_find_package(fmt 9.1.0)
  stepscope_find_package(nlohmann_json 3.11.2)
  stepscope_find_library(stepscope_isal isa-l.h isal)   # >= 2.30
  stepscope_find_library(stepscope_cli11 CLI/CLI.hpp "") # >= 2.1.2
endif()

if(STEPSCOPE_BUILD_TESTS)
  stepscope_find_package(GTest 1.12.1)
  include(GoogleTest)
endif()
if(STEPSCOPE_BUILD_BENCH)
  stepscope_find_package(benchmark 1.7.1)
endif()

# ccache where there is one: several build trees share their objects.
find_program(STEPSCOPE_CCACHE ccache)
if(STEPSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEPSCOPE_CCACHE})
endif()
