/* SPDX-License-Identifier: MIT */
/* fields.h - what does this field of an answer say, and how is one of a request written?
 *
 * Looks one field of a JSON object up by its name. Each look is a pass over the text: made for
 * the small objects that are shown to people. What is not there, or not of the type asked for,
 * is false, and the result untouched.
 *
 * Memory    spans point into the text.
 */
#ifndef TOCSIN_CLI_FIELDS_H
#define TOCSIN_CLI_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/json_write.h"

/* The value as it is written. */
bool fields_raw(struct bytes object, const char *name, struct bytes *ret_value);
/* Without escapes, ended by a zero, cut to fit. */
bool fields_text(struct bytes object, const char *name, char *ret_text, size_t room);
bool fields_int64(struct bytes object, const char *name, int64_t *ret_value);

/* For people: what is not there is "", 0 or false. The text has no control characters. */
void fields_clean(struct bytes object, const char *name, char *ret_text, size_t room);
int64_t fields_number(struct bytes object, const char *name);
bool fields_true(struct bytes object, const char *name);

/* The items of an array, one a call: starts with left as the array, and takes them off. */
bool fields_item(struct bytes *left, struct bytes *ret_item);

/* NULL: the field is left out. An instant that is a whole number is written as one. */
void fields_write_text(struct json_writer *writer, const char *name, const char *text);
void fields_write_instant(struct json_writer *writer, const char *name, const char *text);

#endif
