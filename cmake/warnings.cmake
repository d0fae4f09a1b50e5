# Compiler options of every target of ours.
function(stepscope_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                                           -Werror=unused-result)
  if(STEPSCOPE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  stepscope_sanitize(${target})
endfunction()
