# Every header of ours compiles alone: one generated source a header, built as an object library.
file(GLOB_RECURSE headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.h)
set(generated)
foreach(header ${headers})
  string(REPLACE "/" "_" flat ${header})
  set(source ${CMAKE_BINARY_DIR}/headers/${flat}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND generated ${source})
endforeach()
add_library(stepscope_headers OBJECT EXCLUDE_FROM_ALL ${generated})
target_include_directories(stepscope_headers PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(stepscope_headers PRIVATE stepscope_robin_map stepscope_xxhash stepscope_isal simdjson::simdjson
                                                fmt::fmt nlohmann_json::nlohmann_json stepscope_cli11 GTest::gtest)
stepscope_compile_options(stepscope_headers)
