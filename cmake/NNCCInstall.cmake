# What `cmake --install` puts where. The programs find the runtime's archives and libnncc_jit.so relative to themselves
# (../lib), as they do in the build tree, so that an installation can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(NNCC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/nncc)

# The headers of compiled models; dlopen is all that they need.
add_library(nncc_runtime INTERFACE)
target_include_directories(nncc_runtime INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(nncc_runtime INTERFACE ${CMAKE_DL_LIBS})
target_compile_features(nncc_runtime INTERFACE c_std_99)
set_target_properties(nncc_runtime PROPERTIES EXPORT_NAME runtime)

install(DIRECTORY runtime/include/nncc TYPE INCLUDE)
set(installed nncc_runtime nncc-run)
if(NNCC_BUILD_COMPILER)
  list(APPEND installed nncc nncc-opt nncc_jit)
  set_target_properties(nncc_jit PROPERTIES EXPORT_NAME jit INSTALL_RPATH_USE_LINK_PATH ON)
  set_target_properties(nncc nncc-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  # Every model.so is linked from these by nncc, not by the user's linker.
  install(FILES $<TARGET_FILE:nncc_rt> $<TARGET_FILE:nncc_rt_cuda> $<TARGET_FILE:nncc_model_entry>
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES cmake/nnccAddModel.cmake DESTINATION ${NNCC_CMAKE_DIR})
endif()
install(TARGETS ${installed} EXPORT nnccTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT nnccTargets NAMESPACE nncc:: DESTINATION ${NNCC_CMAKE_DIR})

configure_package_config_file(cmake/nnccConfig.cmake.in ${CMAKE_BINARY_DIR}/nnccConfig.cmake
  INSTALL_DESTINATION ${NNCC_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/nnccConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/nnccConfig.cmake ${CMAKE_BINARY_DIR}/nnccConfigVersion.cmake
  DESTINATION ${NNCC_CMAKE_DIR})
