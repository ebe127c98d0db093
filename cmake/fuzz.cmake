# Fuzz targets: every test/fuzz/NAME_fuzz.c is a libFuzzer binary; its seeds are in
# test/fuzz/corpus/NAME. jansson is what our JSON reader is compared with.
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)

file(GLOB support_sources CONFIGURE_DEPENDS test/support/*.c)
# A library, so that a target takes what it uses: some of it needs the test runner.
add_library(fuzz_support STATIC ${support_sources})
target_include_directories(fuzz_support PUBLIC test)
target_link_libraries(fuzz_support PUBLIC tocsin_program PkgConfig::JANSSON)

file(GLOB fuzz_sources CONFIGURE_DEPENDS test/fuzz/*_fuzz.c)
foreach(source IN LISTS fuzz_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE fuzz_support)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
endforeach()
