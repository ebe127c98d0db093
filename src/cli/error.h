/* SPDX-License-Identifier: MIT */
/* error.h - how is the user told what went wrong?
 *
 * One line on stderr for each error; stdout has what was asked for and nothing else, so a pipe
 * never takes an error for an answer. For people it says what, why, and what to do:
 *
 *     tocsin cancel: notify-001: there is no such task (404 NOT_FOUND)
 *     tocsin ls: cannot reach http://127.0.0.1:7400: Connection refused; is it running? …
 *
 * When --json is among the words, for programs, with the code of the server's problem:
 *
 *     {"command":"cancel","about":"notify-001","status":404,"code":"NOT_FOUND","detail":"…"}
 */
#ifndef TOCSIN_CLI_ERROR_H
#define TOCSIN_CLI_ERROR_H

struct cli_error {
    const char *command; /* NULL: none yet */
    const char *about;   /* the task or line it is about; NULL: none */
    int status;          /* of HTTP; 0: there was no answer */
    const char *code;    /* the server's, or USAGE, FAILED, DAMAGED, UNREACHABLE */
    const char *detail;  /* what, and why */
    const char *hint;    /* what to do; NULL: the detail says it */
};

/* Looks through the words of the process, up to --, for --json. */
void error_choose(int count, char **words);
void error_tell(const struct cli_error *error);
/* No error, but to be known: "tocsin work: the server is back"; {"command":"work","note":"…"}. */
void error_note(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
