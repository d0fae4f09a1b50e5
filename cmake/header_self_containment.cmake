# Every header of ours compiles alone. One that its own source includes first is proven by that source; for each of the
# others a source is generated and built into an object library. The public ones are compiled without src/ in sight, as
# a program that links the library sees them.
function(stepscope_compile_alone target folder)
  file(GLOB_RECURSE headers RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.h)
  list(FILTER headers EXCLUDE REGEX "^python/") # they need nanobind, and all their sources are compiled by themselves
  set(generated)
  foreach(header ${headers})
    file(STRINGS ${folder}/${header} guard REGEX "^#pragma once$")
    if(NOT guard)
      message(FATAL_ERROR "${folder}/${header} has no #pragma once")
    endif()
    string(REGEX REPLACE "\\.h$" ".cpp" own_source ${folder}/${header})
    set(first_include)
    if(EXISTS ${own_source})
      file(STRINGS ${own_source} first_include REGEX "^#include" LIMIT_COUNT 1)
    endif()
    if(first_include STREQUAL "#include \"${header}\"")
      continue()
    endif()
    string(REPLACE "/" "_" flat ${header})
    set(source ${PROJECT_BINARY_DIR}/headers/${target}_${flat}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
    list(APPEND generated ${source})
  endforeach()
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${generated})
  stepscope_compile_options(${target})
endfunction()

stepscope_compile_alone(stepscope_public_headers ${PROJECT_SOURCE_DIR}/include)
target_include_directories(stepscope_public_headers PRIVATE ${PROJECT_SOURCE_DIR}/include)

stepscope_compile_alone(stepscope_headers ${PROJECT_SOURCE_DIR}/src)
target_include_directories(stepscope_headers PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                                     ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(stepscope_headers PRIVATE stepscope_robin_map stepscope_xxhash stepscope_isal simdjson::simdjson
                                                fmt::fmt nlohmann_json::nlohmann_json stepscope_cli11 GTest::gtest)
# Headers of test support read files of tests/data.
target_compile_definitions(stepscope_headers PRIVATE STEPSCOPE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
add_dependencies(stepscope_headers stepscope_public_headers)
