# Installs the build tree into a fresh folder, then configures, builds and runs the project beside this file with it.
# Takes BUILD_DIR, WORK_DIR, SOURCE_DIR, CXX, C.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed with ${status}:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/installed)
# Moved: nothing may point back to where it was installed first.
file(RENAME ${WORK_DIR}/installed ${WORK_DIR}/moved)
# The runtime for CUDA devices came along; to compile for one and to describe the model takes none.
step(${WORK_DIR}/moved/bin/nncc ${SOURCE_DIR}/project/product.nn --target=cpu,cuda -o ${WORK_DIR}/product.so)
step(${WORK_DIR}/moved/bin/nncc-run ${WORK_DIR}/product.so --info --device=cuda)
step(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR}/project -B ${WORK_DIR}/build -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${C})
step(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
step(${WORK_DIR}/build/use_model)
step(${WORK_DIR}/build/use_jit)
