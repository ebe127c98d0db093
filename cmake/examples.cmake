# Every file in examples is a program that uses the public headers only.
enable_language(CXX)
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c examples/*.cpp)
foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    add_executable(example_${name} ${source})
    target_link_libraries(example_${name} PRIVATE tocsin_engine_static)
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()
