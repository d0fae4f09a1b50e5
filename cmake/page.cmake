# Puts web/dist/page.html into the program: its bytes as an array in a generated source file. The built page is kept in
# the repository, so that building the program needs no Node (docs/decisions/page.md); tests/web checks that it is what
# the sources build. An .incbin was rejected: ccache does not see the file behind it.
if(TARGET stepscope_report)
  set(page ${PROJECT_SOURCE_DIR}/web/dist/page.html)
  set(generated ${PROJECT_BINARY_DIR}/generated/page_template.cpp)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -D INPUT=${page} -D OUTPUT=${generated} -P ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    DEPENDS ${page} ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    VERBATIM
  )
  target_sources(stepscope_report PRIVATE ${generated})
endif()
