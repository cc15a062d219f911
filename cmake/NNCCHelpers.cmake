# What every target of the project shares: warnings, sanitizers, include root, ccache.

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(NNCC_CCACHE ccache)
  if(NNCC_CCACHE)
    # Precompiled headers are cached only when their defines and time macros are taken on trust.
    set(NNCC_CCACHE ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${NNCC_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${NNCC_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${NNCC_CCACHE})
  endif()
endif()

add_library(nncc_options INTERFACE)
target_include_directories(nncc_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include>)
target_compile_options(nncc_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(NNCC_WERROR)
  target_compile_options(nncc_options INTERFACE -Werror)
endif()
if(NNCC_SANITIZE)
  target_compile_options(nncc_options INTERFACE -fsanitize=${NNCC_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(nncc_options INTERFACE -fsanitize=${NNCC_SANITIZE})
endif()
if(NNCC_BUILD_FUZZERS)
  target_compile_options(nncc_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# nncc_add_library(NAME SOURCES... [DEPENDS targets...] [LINK libs...]): a static library of the project.
function(nncc_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC nncc_options ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# As nncc_add_library, for code that includes MLIR or LLVM headers.
function(nncc_add_mlir_library name)
  nncc_add_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC nncc_mlir)
  nncc_use_mlir_headers(${name})
endfunction()

# Compiles a target that includes MLIR with the precompiled headers.
function(nncc_use_mlir_headers name)
  if(NNCC_PRECOMPILE_HEADERS)
    target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
    target_precompile_headers(${name} REUSE_FROM nncc_mlir_headers)
  endif()
endfunction()
