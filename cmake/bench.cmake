# Benchmarks: every bench/NAME.c is the program bench-NAME; bench/NAME/*.c belong to
# it. They stand beside the timers of libuv, libev and libevent. libev's
# library also holds functions with the names of libevent's, so libevent is linked first.
# (The header event.h is libevent's: libev's is in a package of its own.)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBUV REQUIRED libuv)
pkg_check_modules(LIBEVENT REQUIRED libevent_core)
find_library(LIBEV ev REQUIRED)
find_path(LIBEV_INCLUDE ev.h REQUIRED)

# A file with main() is a program; what the programs share stands beside them.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
set(programs)
set(shared_sources)
foreach(source IN LISTS bench_sources)
    file(STRINGS ${source} main REGEX "^int main\\(")
    if(main)
        list(APPEND programs ${source})
    else()
        list(APPEND shared_sources ${source})
    endif()
endforeach()

# Compiled once: clang-tidy reads a file as often as it is compiled.
add_library(bench_shared OBJECT ${shared_sources})
target_include_directories(bench_shared PRIVATE bench)

foreach(source IN LISTS programs)
    cmake_path(GET source STEM name)
    file(GLOB_RECURSE parts CONFIGURE_DEPENDS bench/${name}/*.c)
    add_executable(bench-${name} ${source} ${parts} $<TARGET_OBJECTS:bench_shared>)
    target_include_directories(bench-${name} PRIVATE bench)
    target_include_directories(bench-${name} SYSTEM PRIVATE ${LIBUV_INCLUDE_DIRS}
                               ${LIBEVENT_INCLUDE_DIRS} ${LIBEV_INCLUDE})
    target_link_libraries(bench-${name} PRIVATE tocsin_program ${LIBUV_LINK_LIBRARIES}
                          ${LIBEVENT_LINK_LIBRARIES} ${LIBEV} m)
endforeach()

# This one starts the server that was built with it.
if(TARGET bench-server AND TARGET tocsin)
    add_dependencies(bench-server tocsin)
endif()

# This one plays against the opponents of the tests.
if(TARGET bench-gomoku)
    target_include_directories(bench-gomoku PRIVATE test)
endif()
