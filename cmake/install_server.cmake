# Run by cmake --install: the prefix is known only then. The unit with the paths of that
# prefix, and a configuration, but never over one that is there.
set(ops ${CMAKE_CURRENT_LIST_DIR}/../ops)
set(sysconf ${CMAKE_INSTALL_PREFIX}/etc)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(sysconf /etc)
endif()

file(READ ${ops}/tocsin.service unit)
string(REPLACE /usr/local/etc/ ${sysconf}/ unit "${unit}")
string(REPLACE /usr/local/bin/ ${CMAKE_INSTALL_PREFIX}/bin/ unit "${unit}")
set(unit_file $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/tocsin.service)
message(STATUS "Installing: ${unit_file}")
file(WRITE ${unit_file} "${unit}")

set(config_file $ENV{DESTDIR}${sysconf}/tocsin/tocsin.yml)
if(EXISTS ${config_file})
    message(STATUS "Kept as it is: ${config_file}")
else()
    message(STATUS "Installing: ${config_file}")
    file(COPY ${ops}/tocsin.yml DESTINATION $ENV{DESTDIR}${sysconf}/tocsin)
endif()
