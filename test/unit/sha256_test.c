/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <string.h>

#include "base/sha256.h"

/* FIPS 180-4's examples, and what sha256sum says of the others: around the end of a block. */
TEST(the_known_digests_come_out)
{
    static const struct {
        size_t count;
        char byte;
        const char *text;
        const char *digest;
    } rows[] = {
        {0, 0, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {0, 0, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {0, 0, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {55, 'a', "", "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, 'a', "", "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {64, 'a', "", "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {1000, 'a', "", "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char bytes[1000];
        char digest[SHA256_HEX_BYTES + 1];
        memset(bytes, rows[i].byte, rows[i].count);
        bool filled = rows[i].count > 0;
        sha256_hex(filled ? bytes : rows[i].text, filled ? rows[i].count : strlen(rows[i].text),
                   digest);
        assert_string_equal(digest, rows[i].digest);
    }
}
