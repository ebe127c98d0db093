# How everything is compiled. The preset names the mode (TOCSIN_MODE); each mode's
# flags stand here, so that a build without presets gets the same ones.

set(warnings -Wall -Wextra -Wconversion -Wshadow -Wundef -Wvla -Wformat -Wformat-security -Wpointer-arith
             -Wcast-qual -Wwrite-strings -Wimplicit-fallthrough)
set(warnings_c -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)
# C fills what an initialiser leaves out with zeros, and the house style relies on it.
list(APPEND warnings -Wno-missing-field-initializers)
if(TOCSIN_WERROR)
    list(APPEND warnings -Werror)
endif()
add_compile_options(${warnings} "$<$<COMPILE_LANGUAGE:C>:${warnings_c}>")

# Static library, shared library and programs share one set of objects. They are
# position independent, but may still inline their own public functions.
add_compile_options(-g -fno-semantic-interposition)

# An assert names its file from the root of the repository.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

set(sanitizer_options -fno-omit-frame-pointer -fno-sanitize-recover=all)

# Asserts stay on in every mode: NDEBUG is never defined.
if(TOCSIN_MODE STREQUAL "release")
    add_compile_options(-O3 -fstack-protector-strong -fstack-clash-protection
                        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack)
elseif(TOCSIN_MODE STREQUAL "asan")
    add_compile_options(-O1 -fsanitize=address,undefined ${sanitizer_options})
    add_link_options(-fsanitize=address,undefined)
elseif(TOCSIN_MODE STREQUAL "tsan")
    add_compile_options(-O1 -fsanitize=thread ${sanitizer_options})
    add_link_options(-fsanitize=thread)
elseif(TOCSIN_MODE STREQUAL "fuzz")
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "libFuzzer comes with clang: use the preset (cmake --preset fuzz), "
                            "or set CMAKE_C_COMPILER=clang.")
    endif()
    add_compile_options(-O1 -fsanitize=fuzzer-no-link,address,undefined ${sanitizer_options})
    add_link_options(-fsanitize=address,undefined)
elseif(TOCSIN_MODE STREQUAL "coverage")
    add_compile_options(-O0 --coverage -fprofile-update=atomic)
    add_link_options(--coverage)
else()
    message(FATAL_ERROR "TOCSIN_MODE is '${TOCSIN_MODE}'; known are release, asan, tsan, fuzz "
                        "and coverage.")
endif()
