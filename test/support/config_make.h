/* SPDX-License-Identifier: MIT */
/* config_make.h - a configuration, from what a test says of it. */
#ifndef TOCSIN_TEST_CONFIG_MAKE_H
#define TOCSIN_TEST_CONFIG_MAKE_H

#include "runner.h"
#include "server/config.h"

static inline void init(struct config *config)
{
    assert_int_equal(config_init(config), TOCSIN_OK);
}

static inline enum tocsin_status read_yaml(struct config *config, const char *yaml,
                                           struct config_why *ret_why)
{
    return config_read_yaml(config, "t.yml", bytes_of(yaml), ret_why);
}

static inline void assert_reads(struct config *config, const char *yaml)
{
    struct config_why why = {""};
    if (read_yaml(config, yaml, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

static inline void assert_sets(struct config *config, const char *path, const char *value)
{
    struct config_why why = {""};
    if (config_set(config, path, value, CONFIG_FLAG, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

/* The configuration as YAML, to be freed. */
static inline char *printed(const struct config *config, bool secrets)
{
    struct buffer out;
    size_t size;
    buffer_init(&out, 1 << 20);
    config_print(config, secrets, &out);
    buffer_append_byte(&out, '\0');
    char *text = buffer_take(&out, &size);
    assert_non_null(text);
    return text;
}

#endif
