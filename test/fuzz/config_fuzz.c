/* SPDX-License-Identifier: MIT */
/* A configuration file of any bytes: it is refused with a reason, or taken; what was taken can
 * be printed, and what was printed is taken again and is the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config.h"

#define CHECK(holds) ((holds) ? (void)0 : (fprintf(stderr, "%s\n", #holds), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const struct config *config, struct buffer *out)
{
    buffer_init(out, 1 << 22);
    config_print(config, true, out);
    CHECK(buffer_status(out) == TOCSIN_OK);
}

static void check_taken(const struct config *config)
{
    struct buffer first;
    struct buffer second;
    struct config again;
    struct config_why why = {""};
    if (config_init(&again) != TOCSIN_OK)
        return;
    print(config, &first);
    enum tocsin_status status =
        config_read_yaml(&again, "again", (struct bytes){first.data, first.size}, &why);
    if (status != TOCSIN_OK)
        (void)fprintf(stderr, "%s\n%.*s", why.text, (int)first.size, first.data);
    CHECK(status == TOCSIN_OK);
    print(&again, &second);
    CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    buffer_release(&first);
    buffer_release(&second);
    config_release(&again);
}

/* The bytes up to a zero are the file; what follows are values for two variables. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    struct config_why why = {""};
    size_t yaml_size = strnlen((const char *)data, size);
    char *yaml = malloc(yaml_size > 0 ? yaml_size : 1);
    if (yaml == NULL || config_init(&config) != TOCSIN_OK)
        abort();
    memcpy(yaml, data, yaml_size);
    enum tocsin_status status =
        config_read_yaml(&config, "file", (struct bytes){yaml, yaml_size}, &why);
    CHECK((status == TOCSIN_OK) == (why.text[0] == '\0'));
    if (yaml_size + 1 < size) {
        char listen[2000];
        char tokens[2000];
        size_t rest = size - yaml_size - 1;
        const char *at = (const char *)data + yaml_size + 1;
        (void)snprintf(listen, sizeof listen, "TOCSIN_LISTEN=%.*s", (int)(rest & 0x3ff), at);
        (void)snprintf(tokens, sizeof tokens, "TOCSIN_TOKENS=%.*s", (int)(rest & 0x3ff), at);
        char *const environment[] = {listen, NULL};
        char *const more[] = {tokens, NULL};
        (void)config_read_environment(&config, environment, &why);
        (void)config_read_environment(&config, more, &why);
    }
    if (status == TOCSIN_OK)
        check_taken(&config);
    config_release(&config);
    free(yaml);
    return 0;
}
