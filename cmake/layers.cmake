# tocsin_layer_sources(PART RESULT): the C files of every layer that layers.txt puts
# into PART, as far as its folder exists.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/layers.txt)

function(tocsin_layer_sources part result)
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/layers.txt rows REGEX "^[0-9]")
    set(found)
    foreach(row IN LISTS rows)
        string(REGEX MATCHALL "[^ ]+" words "${row}")
        list(GET words 1 folder)
        list(GET words 2 row_part)
        if(row_part STREQUAL part)
            file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
            list(APPEND found ${files})
        endif()
    endforeach()
    set(${result} ${found} PARENT_SCOPE)
endfunction()
