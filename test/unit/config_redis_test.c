/* SPDX-License-Identifier: MIT */
/* The configuration of renewals and of the Redis servers they use: R-07. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/redis/redis_url.h"
#include "runner.h"
#include "server/config_form.h"
#include "server/config_table.h"
#include "support/config_make.h"

TEST(config_of_renewals_has_the_defaults_of_the_requirement)
{
    struct config config;
    init(&config);
    const struct config_renewal *renewal = &config.redis.renewal;
    assert_int_equal(renewal->enabled, 1);
    assert_int_equal(renewal->type, CONFIG_TIME_WHEEL);
    assert_int_equal(renewal->time_wheel.tick_duration, 100);
    assert_int_equal(renewal->time_wheel.ticks_per_wheel, 512);
    assert_int_equal(renewal->executor_thread_pool_size, 4);
    assert_int_equal(renewal->metrics_report_interval, 60);
    assert_int_equal(renewal->default_renewal_interval, 30);
    assert_int_equal(renewal->default_ttl, 300);
    assert_string_equal(config.redis.host, "127.0.0.1");
    assert_int_equal(config.redis.port, 6379);
    config_release(&config);
}

TEST(config_paths_with_dashes_are_those_with_underscores)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    assert_reads(&config, "redis:\n"
                          "  renewal:\n"
                          "    type: scheduled\n"
                          "    executor-thread-pool-size: 2\n"
                          "    metrics_report-interval: 5\n"
                          "    default-ttl: 20\n"
                          "    time-wheel:\n"
                          "      tick-duration: 50\n");
    assert_sets(&config, "redis.renewal.time-wheel.ticks-per-wheel", "64");
    assert_sets(&config, "redis.renewal.default-renewal-interval", "7");
    assert_int_equal(config.redis.renewal.type, CONFIG_SCHEDULED);
    assert_int_equal(config.redis.renewal.executor_thread_pool_size, 2);
    assert_int_equal(config.redis.renewal.metrics_report_interval, 5);
    assert_int_equal(config.redis.renewal.default_ttl, 20);
    assert_int_equal(config.redis.renewal.time_wheel.tick_duration, 50);
    assert_int_equal(config.redis.renewal.time_wheel.ticks_per_wheel, 64);
    assert_int_equal(config.redis.renewal.default_renewal_interval, 7);
    assert_int_equal(read_yaml(&config, "redis: {renewal: {default-ttl: 1, default_ttl: 2}}", &why),
                     TOCSIN_INVALID);
    assert_int_equal(read_yaml(&config, "redis: {renewals: {type: scheduled}}", &why),
                     TOCSIN_INVALID);
    assert_int_equal(config_set(&config, "redis-host", "x", CONFIG_FLAG, &why), TOCSIN_INVALID);
    config_release(&config);
}

/* environ has them writable. */
#define VARIABLE(text) ((char[]){text})

TEST(config_takes_the_variables_of_redis_unless_ours_are_there)
{
    const struct {
        char *const *variables;
        const char *host, *password;
        uint64_t port;
    } cases[] = {
        {(char *const[]){VARIABLE("REDIS_HOST=cache"), VARIABLE("REDIS_PORT=7000"),
                         VARIABLE("REDIS_PASSWORD=tell-nobody"), NULL},
         "cache", "tell-nobody", 7000},
        {(char *const[]){VARIABLE("TOCSIN_REDIS_HOST=ours"), VARIABLE("REDIS_HOST=cache"),
                         VARIABLE("REDIS_PORT=7000"), VARIABLE("TOCSIN_REDIS_PORT=7001"), NULL},
         "ours", "", 7001},
        /* Kubernetes, with a service called redis; and a shell that has them empty */
        {(char *const[]){VARIABLE("REDIS_PORT=tcp://10.0.0.7:6379"),
                         VARIABLE("REDIS_SERVICE_HOST=10.0.0.7"),
                         VARIABLE("REDIS_PORT_6379_TCP=tcp://10.0.0.7:6379"),
                         VARIABLE("REDIS_HOST="), VARIABLE("REDIS_PASSWORD="), NULL},
         "127.0.0.1", "", 6379},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        assert_int_equal(config_read_environment(&config, cases[i].variables, &why), TOCSIN_OK);
        assert_string_equal(config.redis.host, cases[i].host);
        assert_string_equal(config.redis.password, cases[i].password);
        assert_int_equal(config.redis.port, cases[i].port);
        assert_sets(&config, "redis.host", "by-flag");
        assert_int_equal(config_read_environment(&config, cases[i].variables, &why), TOCSIN_OK);
        assert_string_equal(config.redis.host, "by-flag");
        config_release(&config);
    }
    struct config config;
    struct config_why why = {""};
    char *const bad[] = {VARIABLE("REDIS_PORT=70000"), NULL};
    init(&config);
    assert_int_equal(config_read_environment(&config, bad, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "environment: REDIS_PORT: found '70000'"));
    config_release(&config);
}

static const char servers[] = "redis:\n"
                              "  password: tell-nobody\n"
                              "  servers:\n"
                              "    - plain=redis://10.0.0.7\n"
                              "    - cache=redis://me:hush/h@ush@cache.example:7000/3\n";

TEST(config_printed_hides_passwords_and_is_not_taken_with_hidden_ones)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    assert_reads(&config, servers);
    assert_int_equal(config_finish(&config, &why), TOCSIN_OK);
    char *text = printed(&config, false);
    assert_null(strstr(text, "tell-nobody"));
    assert_null(strstr(text, "hush"));
    assert_null(strstr(text, "ush@"));
    assert_non_null(strstr(text, "plain=redis://10.0.0.7"));
    assert_non_null(strstr(text, "cache=redis://(hidden)@cache.example:7000/3"));
    assert_int_equal(read_yaml(&config, text, &why), TOCSIN_INVALID);
    free(text);
    text = printed(&config, true);
    struct config again;
    init(&again);
    assert_reads(&again, text);
    assert_string_equal(again.redis.password, "tell-nobody");
    assert_string_equal(again.redis.servers.items[1], config.redis.servers.items[1]);
    free(text);
    config_release(&config);
    config_release(&again);
}

TEST(config_refuses_an_address_without_telling_its_password)
{
    static const char *const bad[] = {
        "redis: {servers: ['cache=redis://:tell-nobody@host:port']}",
        "redis: {servers: ['cache=rediss://:tell-nobody@host']}",
        "redis: {servers: [':tell-nobody@host']}",
        "redis: {password: \"tell-nobody\\u0007\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        if (read_yaml(&config, bad[i], &why) != TOCSIN_INVALID)
            fail_msg("%s is taken", bad[i]);
        if (strstr(why.text, "tell-nobody") != NULL)
            fail_msg("it is told: %s", why.text);
        config_release(&config);
    }
}

TEST(config_of_redis_servers_as_a_whole_must_make_sense)
{
    static const struct {
        const char *yaml, *why;
    } cases[] = {
        {"redis: {servers: ['a=redis://x', 'b=redis://x']}", ""},
        {"redis: {servers: ['a=redis://x', 'a=redis://y']}",
         "redis.servers: the name a is there twice"},
        {"redis: {servers: ['mock=redis://x']}",
         "redis.servers: the name mock is taken, by a server for trying things out"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        assert_reads(&config, cases[i].yaml);
        enum tocsin_status wanted = cases[i].why[0] != '\0' ? TOCSIN_INVALID : TOCSIN_OK;
        assert_int_equal(config_finish(&config, &why), wanted);
        assert_string_equal(why.text, cases[i].why);
        config_release(&config);
    }
}

static void assert_bytes(struct bytes seen, const char *wanted)
{
    assert_int_equal(seen.size, strlen(wanted));
    assert_memory_equal(seen.at == NULL ? "" : seen.at, wanted, seen.size);
}

TEST(config_takes_addresses_of_redis_apart)
{
    static const struct {
        const char *text, *name, *user, *password, *host;
        unsigned port, database;
    } good[] = {
        {"a=redis://h", "a", "", "", "h", 6379, 0},
        {"a.b-c_d=redis://10.0.0.7:1", "a.b-c_d", "", "", "10.0.0.7", 1, 0},
        {"a=redis://:p@h/15", "a", "", "p", "h", 6379, 15},
        {"a=redis://u:p:q@h:65535/0", "a", "u", "p:q", "h", 65535, 0},
        {"a=redis://[::1]", "a", "", "", "::1", 6379, 0},
        {"a=redis://u:p@[fe80::1]:7/2", "a", "u", "p", "fe80::1", 7, 2},
        {"a=redis://:p/w@r=d@h:7", "a", "", "p/w@r=d", "h", 7, 0},
    };
    static const char *const bad[] = {"",
                                      "a",
                                      "redis://h",
                                      "=redis://h",
                                      "default=redis://h",
                                      "a=redis://",
                                      "a=redis://:",
                                      "a=redis://h:0",
                                      "a=redis://h:x",
                                      "a=redis://h:65536",
                                      "a=http://h",
                                      "a=redis://[",
                                      "a=redis://h/x",
                                      "a=redis://h/",
                                      "a=redis://u@h",
                                      "a b=redis://h",
                                      "a=redis://[]",
                                      "a=redis://:(hidden)@h",
                                      "a=redis://h:1/1000001"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct redis_url url = {.port = 0};
        struct bytes name = {NULL, 0};
        if (!config_form_redis(good[i].text) ||
            !redis_url_split(config_form_redis_url(good[i].text, &name), &url))
            fail_msg("%s is refused", good[i].text);
        assert_bytes(name, good[i].name);
        assert_bytes(url.user, good[i].user);
        assert_bytes(url.password, good[i].password);
        assert_bytes(url.host, good[i].host);
        assert_int_equal(url.port, good[i].port);
        assert_int_equal(url.database, good[i].database);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (config_form_redis(bad[i]))
            fail_msg("%s is taken", bad[i]);
    }
}
