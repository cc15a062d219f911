# nncc_add_model(TARGET MODEL.nn [WEIGHTS file.safetensors] [OPTIONS flags...]): compiles a model as part of a build. Makes
# TARGET.so and TARGET.hpp, the header with its inputs and outputs as typed arguments, in the current binary folder. What links
# TARGET gets the folder of the header and is built after both; the target property NNCC_MODEL holds the path of the .so.
function(nncc_add_model target model)
  cmake_parse_arguments(ARG "" "WEIGHTS" "OPTIONS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "nncc_add_model(${target}): unexpected ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(source ${model} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  set(library ${CMAKE_CURRENT_BINARY_DIR}/${target}.so)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/${target}.hpp)
  set(flags ${ARG_OPTIONS})
  set(inputs ${source})
  if(ARG_WEIGHTS)
    get_filename_component(weights ${ARG_WEIGHTS} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND flags --weights=${weights})
    list(APPEND inputs ${weights})
  endif()
  add_custom_command(OUTPUT ${library} ${header}
    COMMAND nncc::nncc ${source} ${flags} -o ${library}
    COMMAND nncc::nncc ${source} --emit=header -o ${header}
    DEPENDS ${inputs} nncc::nncc
    COMMENT "Compiling model ${target}"
    VERBATIM)
  add_custom_target(${target}_model DEPENDS ${library} ${header})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_model)
  target_include_directories(${target} INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${target} INTERFACE nncc::runtime)
  set_target_properties(${target} PROPERTIES NNCC_MODEL ${library})
endfunction()
