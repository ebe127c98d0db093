/* SPDX-License-Identifier: MIT */
/* What is said of a Redis that nodes share, and where its password is never seen. */
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "server/config_form.h"
#include "support/config_make.h"

TEST(config_store_is_one_of_three_kinds)
{
    struct config config;
    init(&config);
    assert_int_equal(config_store_kind(&config), CONFIG_SQLITE);
    assert_sets(&config, "store", "memory");
    assert_int_equal(config_store_kind(&config), CONFIG_MEMORY);
    assert_sets(&config, "store", "redis://10.0.0.7");
    assert_int_equal(config_store_kind(&config), CONFIG_REDIS);
    config_release(&config);
}

TEST(config_store_is_shown_without_its_password)
{
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"redis://h", "redis://h"},
        {"redis://h:7000/3", "redis://h:7000/3"},
        {"redis://ada:s3cret@h:7000/3", "redis://ada:***@h:7000/3"},
        {"redis://:s3cret@[::1]:7000", "redis://:***@[::1]:7000"},
        {"redis://:s3@cret:x@h/1", "redis://:***@h/1"},
        {"redis://ada:@h", "redis://ada:***@h"},
        {"sqlite", "sqlite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct config_why why = {""};
        char shown[CONFIG_STORE_SHOWN_BYTES];
        init(&config);
        assert_sets(&config, "store", cases[i].given);
        config_store_shown(&config, shown);
        assert_string_equal(shown, cases[i].shown);
        char *text = printed(&config, false);
        assert_null(strstr(text, "s3"));
        assert_non_null(strstr(text, cases[i].shown));
        free(text);
        text = printed(&config, true);
        assert_non_null(strstr(text, cases[i].given));
        free(text);
        /* What was hidden is not taken for a password. */
        if (strstr(shown, "***") != NULL) {
            assert_int_equal(config_set(&config, "store", shown, CONFIG_FLAG, &why),
                             TOCSIN_INVALID);
            assert_non_null(strstr(why.text, "(hidden)"));
        }
        config_release(&config);
    }
}

TEST(config_refuses_what_is_no_store_without_telling_a_password)
{
    static const char *const bad[] = {
        "redis://",         "redis://s3cret@h", "redis://a:s3cret@", "rediss://h",
        "redis://a:s3@h:0", "redis://a:s3@h/x", "redis:///s3crets",  "redis://a:s3@h:99999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        assert_int_equal(config_set(&config, "store", bad[i], CONFIG_FLAG, &why), TOCSIN_INVALID);
        assert_true(strchr(bad[i], '@') == NULL || strstr(why.text, "s3") == NULL);
        config_release(&config);
    }
}

static const struct {
    const char *set[4][2];
    const char *why; /* NULL: fine */
} wholes[] = {
    {{{"store", "redis://h"}}, NULL},
    {{{"store", "redis://h"}, {"clock", "manual"}}, "clock: manual, but the store is a Redis"},
    {{{"store", "redis://h"}, {"cluster.lease", "4s"}},
     "cluster.renew: 1s500ms is more than a third"},
    {{{"store", "redis://h"}, {"cluster.lease", "4500ms"}}, NULL},
    {{{"cluster.renew", "2s"}}, "cluster.renew: 2s is more than a third of cluster.lease (5s)"},
    {{{"store", "redis://h"}, {"listen", "0.0.0.0:7400"}, {"tokens", "a=0123456789abcdef"}},
     "cluster.address: is not given, and 0.0.0.0:7400 (listen) does not say where"},
    {{{"store", "redis://h"}, {"listen", "[::]:7400"}, {"tokens", "a=0123456789abcdef"}},
     "cluster.address: is not given, and [::]:7400 (listen) does not say where"},
    {{{"store", "redis://h"},
      {"listen", "0.0.0.0:7400"},
      {"tokens", "a=0123456789abcdef"},
      {"cluster.address", "n1.example.org:7400"}},
     NULL},
    {{{"listen", "0.0.0.0:7400"}, {"tokens", "a=0123456789abcdef"}}, NULL}, /* not shared */
};

TEST(config_of_several_nodes_makes_sense_as_a_whole)
{
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        for (size_t j = 0; j < 4 && wholes[i].set[j][0] != NULL; j++)
            assert_sets(&config, wholes[i].set[j][0], wholes[i].set[j][1]);
        enum tocsin_status status = config_finish(&config, &why);
        if (wholes[i].why == NULL)
            assert_string_equal(why.text, "");
        else if (strncmp(why.text, wholes[i].why, strlen(wholes[i].why)) != 0)
            assert_string_equal(why.text, wholes[i].why);
        assert_int_equal(status, wholes[i].why == NULL ? TOCSIN_OK : TOCSIN_INVALID);
        config_release(&config);
    }
}

/* C-05 */
TEST(config_names_a_node_by_chance_when_nodes_share_a_store)
{
    struct config one;
    struct config two;
    struct config_why why = {""};
    init(&one);
    init(&two);
    assert_sets(&one, "store", "redis://h");
    assert_sets(&two, "store", "redis://h");
    assert_int_equal(config_finish(&one, &why), TOCSIN_OK);
    assert_int_equal(config_finish(&two, &why), TOCSIN_OK);
    assert_int_equal(strncmp(one.node, "tocsin-", 7), 0);
    assert_true(config_form_name(one.node));
    assert_string_not_equal(one.node, two.node);
    config_release(&one);
    config_release(&two);
    init(&one);
    assert_sets(&one, "store", "redis://h");
    assert_sets(&one, "instance.id", "shop-1");
    assert_int_equal(config_finish(&one, &why), TOCSIN_OK);
    assert_string_equal(one.node, "shop-1");
    config_release(&one);
}

TEST(config_address_of_a_node_has_a_port)
{
    static const char *const good[] = {"10.0.0.1:7400", "n1:7400", "[::1]:1",
                                       "n1.example.org:65535"};
    static const char *const bad[] = {"10.0.0.1", "n1",    "n1:0", "n1:70000",
                                      ":7400",    "a b:1", "[::1]"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(config_form_reach(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(config_form_reach(bad[i]));
}
