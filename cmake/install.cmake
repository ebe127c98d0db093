# make install: the binary, the headers, both libraries and the pkg-config file,
# which finds its prefix from where it lies, so that the whole can be moved.
file(RELATIVE_PATH TOCSIN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" TOCSIN_PC_PREFIX "${TOCSIN_PC_PREFIX}")
configure_file(cmake/tocsin.pc.in tocsin.pc @ONLY)

install(TARGETS tocsin_static tocsin_shared)
install(DIRECTORY include/tocsin TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/tocsin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET tocsin)
    install(TARGETS tocsin)
endif()
