# make install: the binary, the headers, both libraries and the pkg-config file,
# which finds its prefix from where it lies, so that the whole can be moved.
file(RELATIVE_PATH TOCSIN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" TOCSIN_PC_PREFIX "${TOCSIN_PC_PREFIX}")
configure_file(cmake/tocsin.pc.in tocsin.pc @ONLY)

# The archive that is installed is one object in which only the public names are left:
# a program may have a region_init of its own. The tests use the other one.
set(archive ${PROJECT_BINARY_DIR}/installed/libtocsin.a)
add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory installed
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_LINKER} -r --whole-archive $<TARGET_FILE:tocsin_static> -o installed/tocsin.o
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=tocsin_*" installed/tocsin.o
    COMMAND ${CMAKE_AR} rcs ${archive} installed/tocsin.o
    DEPENDS tocsin_static
    VERBATIM)
add_custom_target(tocsin_archive ALL DEPENDS ${archive})

install(TARGETS tocsin_shared)
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tocsin TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/tocsin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET tocsin)
    install(TARGETS tocsin)
endif()
