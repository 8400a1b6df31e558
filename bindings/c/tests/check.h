/* What the programs here have in common: checks that say where they are. */
#ifndef CHECK_H
#define CHECK_H

#include "inlay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

/* A call that must do what it is asked; `error` is a variable of the program. */
#define OK(call)                                                                       \
  do {                                                                                 \
    inlay_status status_ = (call);                                                     \
    if (status_ != INLAY_OK) {                                                         \
      fprintf(stderr, "%s:%d: %s\n  %s: %s\n", __FILE__, __LINE__, #call,              \
              inlay_status_name(status_), error ? inlay_error_text(error) : "?");      \
      exit(1);                                                                         \
    }                                                                                  \
    CHECK(error == NULL);                                                              \
  } while (0)

/* A call that must fail like this. */
#define FAILS(call, expected)                                                          \
  do {                                                                                 \
    inlay_status status_ = (call);                                                     \
    if (status_ != (expected)) {                                                       \
      fprintf(stderr, "%s:%d: %s\n  gave %s\n", __FILE__, __LINE__, #call,             \
              inlay_status_name(status_));                                             \
      exit(1);                                                                         \
    }                                                                                  \
    CHECK(error != NULL && inlay_error_status(error) == (expected));                   \
  } while (0)

#define SAYS(part) CHECK(error != NULL && strstr(inlay_error_text(error), (part)) != NULL)

/* A database in memory and a connection. */
#define OPEN()                                                                         \
  inlay_error *error = NULL;                                                           \
  inlay_database *database = NULL;                                                     \
  inlay_connection *connection = NULL;                                                 \
  OK(inlay_open(NULL, NULL, &database, &error));                                       \
  OK(inlay_connect(database, &connection, &error))

#define CLOSE()                                                                        \
  inlay_disconnect(&connection);                                                       \
  inlay_close(&database);                                                              \
  inlay_error_free(&error);                                                            \
  CHECK(connection == NULL && database == NULL && error == NULL)

/* Runs a text whose answer is one number. */
static inline int64_t number(inlay_connection *connection, const char *sql) {
  inlay_error *error = NULL;
  inlay_result *result = NULL;
  int64_t value = 0;
  OK(inlay_query(connection, sql, &result, &error));
  OK(inlay_value_int64(result, 0, 0, &value, &error));
  inlay_result_release(&result);
  return value;
}

#endif
