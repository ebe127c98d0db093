# The page (web/) as files that src/server/page_files.c takes into the binary. With TOCSIN_PAGE
# and npm it is bundled (cmake/page_build.cmake); without one of them, or when npm cannot fetch
# its packages, / says that the server was built without it.
option(TOCSIN_PAGE "Bundle the page (needs node and npm)" ON)
find_program(NODE_COMMAND node)
find_program(NPM_COMMAND npm)

set(page_build ${PROJECT_SOURCE_DIR}/cmake/page_build.cmake)
set(page_without ${PROJECT_SOURCE_DIR}/src/server/page_without.html)
file(GLOB page_sources CONFIGURE_DEPENDS web/src/* web/*.json web/*.mjs web/*.html web/*.svg)

# A build that leaves no binary, or a copy of the tree without web/, has no use for it.
if(NOT page_sources OR TOCSIN_MODE STREQUAL "fuzz")
    set(TOCSIN_PAGE OFF)
endif()

# tocsin_page(WITH FOLDER): makes the files in FOLDER; WITH says whether to bundle the page.
function(tocsin_page with folder)
    set(files)
    foreach(name index.html app.js app.css favicon.svg)
        list(APPEND files ${folder}/${name} ${folder}/${name}.gz ${folder}/${name}.tag)
    endforeach()
    add_custom_command(
        OUTPUT ${files}
        COMMAND ${CMAKE_COMMAND} -D OUT=${folder} -D WITH=${with} -D DEV=${TOCSIN_TESTS} -D WEB=${PROJECT_SOURCE_DIR}/web
                -D WITHOUT=${page_without} -D NODE=${NODE_COMMAND} -D NPM=${NPM_COMMAND}
                -P ${page_build}
        DEPENDS ${page_build} ${page_without} ${page_sources}
        COMMENT "The page" VERBATIM)
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/server/page_files.c APPEND PROPERTY
                 OBJECT_DEPENDS ${files})
endfunction()

tocsin_page(${TOCSIN_PAGE} ${PROJECT_BINARY_DIR}/web)
target_compile_definitions(tocsin_program_static PRIVATE PAGE_FOLDER="${PROJECT_BINARY_DIR}/web")
