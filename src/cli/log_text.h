/* SPDX-License-Identifier: Apache-2.0 */
/* log_text: an event of the connection log in one line, for a person. */
#ifndef SG_CLI_LOG_TEXT_H
#define SG_CLI_LOG_TEXT_H

#include <jansson.h>

/*
 * "18:40:01  refused  tcp    db.example.com:5432  ...", "18:40:02  allowed  http   GET
 * github.com/a/b 200  ...", coloured on a terminal, in local time.
 */
void log_text_print(const json_t *event);

/* The same without time, verdict and protocol, nor a newline: for who has put them elsewhere. */
void log_text_print_what(const json_t *event);

#endif
