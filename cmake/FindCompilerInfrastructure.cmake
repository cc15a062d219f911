# MLIR, LLVM and lld 22. `find_package(MLIR)` is called without a version, since MLIR's package file accepts none; the version
# is checked below.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "nncc needs LLVM and MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}. "
    "Run tools/setup, or pass -DMLIR_DIR=<llvm 22>/lib/cmake/mlir.")
endif()
find_package(LLD REQUIRED CONFIG HINTS ${LLVM_DIR}/../lld)
find_package(fmt REQUIRED)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(nncc_mlir INTERFACE)
target_include_directories(nncc_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(NNCC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(nncc_mlir INTERFACE ${NNCC_LLVM_DEFINITIONS})
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(nncc_mlir INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()
target_link_libraries(nncc_mlir INTERFACE MLIR LLVM)

# MLIR's headers take most of the time of compiling a file, and they do not change: one precompiled header serves every target.
option(NNCC_PRECOMPILE_HEADERS "Precompile MLIR's headers" ON)
if(NNCC_PRECOMPILE_HEADERS)
  # A precompiled header fits only one code model, so programs are compiled as libraries are.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  add_library(nncc_mlir_headers OBJECT ${CMAKE_SOURCE_DIR}/cmake/MlirHeaders.cpp)
  target_link_libraries(nncc_mlir_headers PRIVATE nncc_options nncc_mlir)
  target_compile_options(nncc_mlir_headers PRIVATE -Xclang -fno-pch-timestamp)
  target_precompile_headers(nncc_mlir_headers PRIVATE ${CMAKE_SOURCE_DIR}/cmake/MlirHeaders.h)
endif()
