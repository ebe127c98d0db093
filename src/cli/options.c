/* SPDX-License-Identifier: MIT */

#include "cli/options.h"

#include <string.h>
#include <strings.h>

#include "schedule/duration.h"

bool options_whole(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (const char *c = text; *c != '\0'; c++) {
        uint64_t digit = (uint64_t)(unsigned char)*c - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

bool options_thousandths(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    char whole[24];
    uint64_t units = 0;
    uint64_t value = 0;
    size_t length = strcspn(text, ".");
    if (length >= sizeof whole)
        return false;
    memcpy(whole, text, length);
    whole[length] = '\0';
    if (!options_whole(whole, 0, max / 1000, &units))
        return false;
    value = units * 1000;
    if (text[length] == '.') {
        char rest[4] = "000";
        uint64_t fraction = 0;
        size_t digits = strlen(text + length + 1);
        if (digits < 1 || digits > 3)
            return false;
        memcpy(rest, text + length + 1, digits);
        if (!options_whole(rest, 0, 999, &fraction))
            return false;
        value += fraction;
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

bool options_duration(const char *text, uint64_t *ret_ms)
{
    struct tocsin_why why;
    return duration_parse(text, strlen(text), ret_ms, &why) == TOCSIN_OK;
}

bool options_time(const char *text, uint64_t min_ms, uint64_t max_ms, uint64_t *ret_ms)
{
    uint64_t ms;
    if (!options_duration(text, &ms) || ms < min_ms || ms > max_ms)
        return false;
    *ret_ms = ms;
    return true;
}

bool options_word(const char *text, const char *const *words, const char **ret_word)
{
    for (; *words != NULL; words++) {
        if (strcasecmp(text, *words) == 0) {
            *ret_word = *words;
            return true;
        }
    }
    return false;
}

bool options_read_text(const char *value, void *into)
{
    *(const char **)into = value;
    return true;
}

bool options_read_filled(const char *value, void *into)
{
    return options_read_text(value, into) && value[0] != '\0';
}

bool options_read_duration(const char *value, void *into)
{
    uint64_t ms;
    return options_read_text(value, into) && options_duration(value, &ms);
}

bool options_read_whole(const char *value, void *into)
{
    uint64_t number;
    return options_read_text(value, into) && options_whole(value, 0, INT64_MAX, &number);
}

bool options_read_flag(const char *value, void *into)
{
    (void)value;
    *(bool *)into = true;
    return true;
}
