# Unit tests: every test/unit/NAME_test.c is a binary and a CTest entry of its own.
# What several tests (and fuzz targets) share goes into test/support.
enable_testing()
find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)

file(GLOB support_sources CONFIGURE_DEPENDS test/support/*.c)
add_library(test_runner STATIC test/runner.c ${support_sources})
target_include_directories(test_runner PUBLIC test)
target_compile_definitions(test_runner PUBLIC TEST_DATA="${PROJECT_SOURCE_DIR}/test/data")
target_link_libraries(test_runner PUBLIC tocsin_program PkgConfig::CMOCKA PkgConfig::JANSSON)

file(GLOB test_sources CONFIGURE_DEPENDS test/unit/*_test.c)
foreach(source IN LISTS test_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE test_runner)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${TOCSIN_TEST_SECONDS})
endforeach()

# The runner is tested on a binary whose tests fail, crash and pass on purpose.
add_executable(runner_fixture test/fixture/runner_fixture.c)
target_link_libraries(runner_fixture PRIVATE test_runner)
set_target_properties(runner_fixture PROPERTIES
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
add_dependencies(runner_test runner_fixture)
target_compile_definitions(runner_test PRIVATE RUNNER_FIXTURE="$<TARGET_FILE:runner_fixture>")

# Their requests for memory come by the test, which refuses some.
foreach(name IN ITEMS tasks_memory_test session_memory_test rooms_memory_test redis_memory_test
        renewals_memory_test)
    target_link_options(${name} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endforeach()

# The server as it is without the page: page_test.py looks at both.
tocsin_page(OFF ${PROJECT_BINARY_DIR}/web-without)
add_executable(tocsin_without_page ${main_source} src/server/page_files.c)
target_include_directories(tocsin_without_page PRIVATE src)
target_compile_definitions(tocsin_without_page PRIVATE
                           PAGE_FOLDER="${PROJECT_BINARY_DIR}/web-without")
target_link_libraries(tocsin_without_page PRIVATE tocsin_program)

# Never built here, but clang-tidy finds how they are compiled (cmake/fuzz.cmake builds them).
file(GLOB fuzz_sources CONFIGURE_DEPENDS test/fuzz/*_fuzz.c)
if(fuzz_sources)
    add_library(fuzz_sources OBJECT EXCLUDE_FROM_ALL ${fuzz_sources})
    target_include_directories(fuzz_sources PRIVATE test)
    target_link_libraries(fuzz_sources PRIVATE tocsin_program PkgConfig::JANSSON)
endif()
