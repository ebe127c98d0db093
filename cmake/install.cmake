# make install: the binary, its manual and completion, the headers, the libraries and their
# pkg-config files, which find their prefix from where they lie, so that the whole can be moved.
file(RELATIVE_PATH TOCSIN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" TOCSIN_PC_PREFIX "${TOCSIN_PC_PREFIX}")
configure_file(cmake/tocsin.pc.in tocsin.pc @ONLY)
configure_file(cmake/tocsin-engine.pc.in tocsin-engine.pc @ONLY)
configure_file(cmake/tocsin-redis.pc.in tocsin-redis.pc @ONLY)

# An archive that is installed is one object in which only the public names are left:
# a program may have a region_init of its own. The tests use the others.
function(tocsin_archive name) # and the archives it is made of
    set(archive ${PROJECT_BINARY_DIR}/installed/lib${name}.a)
    set(files)
    foreach(target IN LISTS ARGN)
        list(APPEND files $<TARGET_FILE:${target}>)
    endforeach()
    add_custom_command(
        OUTPUT ${archive}
        COMMAND ${CMAKE_COMMAND} -E make_directory installed
        COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
        COMMAND ${CMAKE_LINKER} -r --whole-archive ${files} -o installed/${name}.o
        COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=tocsin_*" installed/${name}.o
        COMMAND ${CMAKE_AR} rcs ${archive} installed/${name}.o
        DEPENDS ${ARGN}
        VERBATIM)
    add_custom_target(${name}_archive ALL DEPENDS ${archive})
    install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
tocsin_archive(tocsin tocsin_static)
tocsin_archive(tocsin-engine tocsin_static tocsin_engine_static)
tocsin_archive(tocsin-redis tocsin_static tocsin_engine_static tocsin_redis_static)

install(TARGETS tocsin_shared tocsin_engine_shared tocsin_redis_shared)
install(DIRECTORY include/tocsin TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/tocsin.pc ${PROJECT_BINARY_DIR}/tocsin-engine.pc
        ${PROJECT_BINARY_DIR}/tocsin-redis.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET tocsin)
    install(TARGETS tocsin)

    # The binary itself knows its words.
    set(completion ${PROJECT_BINARY_DIR}/completion)
    add_custom_command(
        OUTPUT ${completion}/tocsin ${completion}/_tocsin ${completion}/tocsin.fish
        COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
        COMMAND tocsin completion bash > ${completion}/tocsin
        COMMAND tocsin completion zsh > ${completion}/_tocsin
        COMMAND tocsin completion fish > ${completion}/tocsin.fish
        DEPENDS tocsin
        VERBATIM)
    add_custom_target(tocsin_completion ALL DEPENDS ${completion}/tocsin)
    install(FILES ${completion}/tocsin
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${completion}/_tocsin DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${completion}/tocsin.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    install(FILES docs/man/tocsin.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

# What a machine that runs the server wants.
install(FILES ops/tocsin.yml TYPE DOC)
install(FILES ops/alerts.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/tocsin)
install(SCRIPT cmake/install_server.cmake)
