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

# What bench-server and bench-live share: servers that are started and driven.
set(server_sources child.c load.c peer.c report.c results.c suite.c tocsin.c yardstick.c)
list(TRANSFORM server_sources PREPEND bench/server/)
add_library(bench_servers OBJECT ${server_sources})
target_include_directories(bench_servers PRIVATE bench)

foreach(source IN LISTS programs)
    cmake_path(GET source STEM name)
    file(GLOB_RECURSE parts CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} bench/${name}/*.c)
    list(REMOVE_ITEM parts ${server_sources})
    add_executable(bench-${name} ${source} ${parts} $<TARGET_OBJECTS:bench_shared>)
    target_include_directories(bench-${name} PRIVATE bench)
    target_include_directories(bench-${name} SYSTEM PRIVATE ${LIBUV_INCLUDE_DIRS}
                               ${LIBEVENT_INCLUDE_DIRS} ${LIBEV_INCLUDE})
    target_link_libraries(bench-${name} PRIVATE tocsin_program ${LIBUV_LINK_LIBRARIES}
                          ${LIBEVENT_LINK_LIBRARIES} ${LIBEV} m)
endforeach()

# These start the server that was built with them.
foreach(name server live renewal lease)
    target_sources(bench-${name} PRIVATE $<TARGET_OBJECTS:bench_servers>)
    if(TARGET tocsin)
        add_dependencies(bench-${name} tocsin)
    endif()
endforeach()

# These ask their server as bench-live does; one has a Redis beside it, as bench-server has.
target_sources(bench-renewal PRIVATE bench/live/requests.c)
target_sources(bench-lease PRIVATE bench/live/requests.c bench/server/drive.c bench/server/redis.c)

# This one starts a server, too, but not ours.
target_sources(bench-redis PRIVATE bench/server/child.c)

# This one's peer runs where its packages are installed.
foreach(name peer.mjs package.json package-lock.json .npmrc)
    configure_file(bench/live/peer/${name} ${CMAKE_BINARY_DIR}/live-peer/${name} COPYONLY)
endforeach()
target_compile_definitions(bench-live PRIVATE BENCH_BUILD_FOLDER="${CMAKE_BINARY_DIR}")

# This one plays against the opponents of the tests.
if(TARGET bench-gomoku)
    target_include_directories(bench-gomoku PRIVATE test)
endif()
