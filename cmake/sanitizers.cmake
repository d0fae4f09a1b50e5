# STEPSCOPE_SANITIZE=address,undefined or =thread, for every target of ours.
function(stepscope_sanitize target)
  if(STEPSCOPE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${STEPSCOPE_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${STEPSCOPE_SANITIZE})
  endif()
endfunction()
