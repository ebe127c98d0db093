/* SPDX-License-Identifier: MIT */
/* json_scan.h - where does this string or number end, and is it well formed?
 *
 * What the parts of the reader share: json_read.c knows what may follow what, json_scan.c
 * what strings and numbers look like, json_value.c what they mean.
 */
#ifndef TOCSIN_BASE_JSON_SCAN_H
#define TOCSIN_BASE_JSON_SCAN_H

#include "base/json_read.h"

/* From reader->at, which is behind the opening quote, past the closing one. Sets the span
 * and escaped. */
bool json_scan_string(struct json_reader *reader);

/* From reader->at, at a digit or minus. Sets the span. */
bool json_scan_number(struct json_reader *reader);

/* The text is not JSON at this place; or it is, but the value is not what was asked for.
 * Both remember only the first complaint and answer false. */
bool json_malformed(struct json_reader *reader, const char *at, const char *complaint);
bool json_unwanted(struct json_reader *reader, const char *complaint);

/* The bytes a string stands for, or SIZE_MAX when there are more than room. */
size_t json_unescape(struct json_span string, char *to, size_t room);

#endif
