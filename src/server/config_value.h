/* SPDX-License-Identifier: MIT */
/* config_value.h - is this text a value of that row, and which?
 *
 * Between text and the fields of struct config. A reason begins with the spot the text came
 * from, so that one look at it is enough.
 */
#ifndef TOCSIN_SERVER_CONFIG_VALUE_H
#define TOCSIN_SERVER_CONFIG_VALUE_H

#include "server/config_table.h"

/* Where a text came from. */
struct config_spot {
    enum config_source source;
    const char *file; /* of CONFIG_FILE, with line and column from 1 */
    size_t line;
    size_t column;
    const char *name; /* the path, or the variable; may be NULL */
};

/* Always INVALID: "tocsin.yml:3:7: listen: …". ret_why may be NULL. */
__attribute__((format(printf, 3, 4))) enum tocsin_status
config_refuse(struct config_why *ret_why, const struct config_spot *spot, const char *format, ...);
/* "…: found 'x', allowed is a size from …" */
enum tocsin_status config_refuse_value(struct config_why *ret_why, const struct config_spot *spot,
                                       const struct config_row *row, struct bytes found);

/* "…: limits.bodybytes is not known; did you mean limits.body_bytes?" */
enum tocsin_status config_refuse_name(struct config_why *ret_why, const struct config_spot *spot,
                                      struct bytes path);

/* How much of a text is quoted, for "%.*s". */
int config_quoted(struct bytes text);

/* From one text, whatever the row's type; lists with commas. */
enum tocsin_status config_value_set(const struct config_row *row, struct bytes text,
                                    struct config *config, const struct config_spot *spot,
                                    struct config_why *ret_why);

/* One item of a list, added to its end. */
enum tocsin_status config_value_add_item(const struct config_row *row, struct bytes text,
                                         struct config_list *list, const struct config_spot *spot,
                                         struct config_why *ret_why);
/* The list becomes the row's value, unless it has too few or too many. It is empty after. */
enum tocsin_status config_value_take_list(const struct config_row *row, struct config_list *list,
                                          struct config *config, const struct config_spot *spot,
                                          struct config_why *ret_why);
/* Moves the token to the end, when it is one. */
enum tocsin_status config_value_take_token(struct config_token *token, struct config_tokens *tokens,
                                           const struct config_spot *spot,
                                           struct config_why *ret_why);
enum tocsin_status config_value_take_tokens(const struct config_row *row,
                                            struct config_tokens *tokens, struct config *config,
                                            const struct config_spot *spot,
                                            struct config_why *ret_why);

void config_list_release(struct config_list *list);
void config_token_release(struct config_token *token);
void config_tokens_release(struct config_tokens *tokens);
/* What the row holds is freed and empty. */
void config_value_release(const struct config_row *row, struct config *config);

/* Does this source beat the one the row's value is from; and: it did. */
bool config_row_may_set(const struct config *config, const struct config_row *row,
                        enum config_source source);
void config_row_was_set(struct config *config, const struct config_row *row,
                        enum config_source source);

/* All bytes of a file, to be freed; NULL and errno when it cannot be read or has more. */
char *config_read_whole(const char *path, size_t max_bytes, size_t *ret_size);

/* A copy that ends with a zero; NULL: no memory. */
char *config_copy(struct bytes text);

/* Room for the longest number, size or time. */
enum { CONFIG_NUMBER_BYTES = 48 };
/* The shortest text that reads back as the same: "64KiB", "1m30s". */
void config_value_format_number(enum config_type type, uint64_t value,
                                char ret_text[CONFIG_NUMBER_BYTES]);

#endif
