/* inlay.h: Inlay, an analytical SQL database inside the program that uses it. Version 0.1.0.
 *
 * Made by bindings/c/header.py of the library's sources; docs/c.md is the guide.
 *
 * Status and errors. A function that can fail gives an inlay_status: INLAY_OK, or the kind of the error. Its
 * last argument says where the error itself is put: NULL, or the address of a pointer that is NULL or holds
 * an earlier error, which is freed. So one pointer, set to NULL at first, serves any number of calls; after
 * each it holds that call's error, or NULL. Other functions give a plain value; for a handle that is NULL it
 * is zero, NULL or false. No function aborts, exits, or lets an exception out.
 *
 * Ownership. A handle that a function makes belongs to the program, which frees it once by the function that
 * its comment names. To free takes the address of the pointer, and leaves NULL there: freeing NULL, or
 * twice, does nothing. Handles keep alive what they need themselves, so they may be freed in any order.
 * Where a function fails, a handle that it was to make is NULL. What "belongs to" a handle is there until
 * that is freed, and is only read. Arguments are copied, unless a comment says otherwise; none is kept.
 *
 * Threads. A handle may be used by any number of threads at once; statements of one connection run one after
 * the other. To free a handle must be the last use of it. In a child of fork(), handles of the parent fail
 * with INLAY_ERROR_CLOSED, and to free them does nothing; databases that the child opens itself work.
 *
 * Texts are UTF-8. Columns and rows count from 0, parameters from 1. Pointers that may be NULL are named.
 */
#ifndef INLAY_H
#define INLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLAY_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of Arrow's C interfaces, unless another header has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif


/* ---- Handles --------------------------------------------------------------------------------------------- */

/* Why a function failed. It belongs to the program, which frees it; its texts are there until then,
 * whatever happens to the handles. */
typedef struct inlay_error inlay_error;

/* A type, which may be made of others: elements of lists and arrays, keys and values of maps, fields of
 * structs, members of unions. */
typedef struct inlay_type inlay_type;

/* A database that is open. The file is closed when nothing uses it any more: not this handle, a
 * connection, a statement or a result. */
typedef struct inlay_database inlay_database;

/* Settings that a database is opened with. They are used by one thread at a time. */
typedef struct inlay_config inlay_config;

/* A session: one transaction at a time, settings, variables. Several threads may use it; its statements
 * run one after the other. */
typedef struct inlay_connection inlay_connection;

/* The statements of a text, which are run one after the other. */
typedef struct inlay_script inlay_script;

/* A statement that is read once and run many times. It keeps its connection, and the values that were
 * bound. */
typedef struct inlay_statement inlay_statement;

/* A statement that was started. */
typedef struct inlay_pending inlay_pending;

/* The answer of a statement. Its rows are read either as chunks, once, or as whole columns and values, as
 * often as wanted: then all of them are computed and kept. What functions say of its columns belongs to
 * it, and is there until the last who holds it lets go. */
typedef struct inlay_result inlay_result;

/* The values of a column in memory that belongs to the program alone: it may write to them, which nobody
 * else sees, and they are there until it frees them, whatever becomes of the result, the connection and
 * the database. */
typedef struct inlay_buffer inlay_buffer;

/* Some rows as columns. It keeps its memory itself: it may outlive the result, the connection and the
 * database. */
typedef struct inlay_chunk inlay_chunk;

/* Collects rows for a table. They are in it when the appender is flushed or closed, or by themselves when
 * there are many. */
typedef struct inlay_appender inlay_appender;

/* What a name is to mean. It belongs to the library, and is there during the call. */
typedef struct inlay_replacement inlay_replacement;

/* A call of a function of the program's. It belongs to the library, and is there during the call. */
typedef struct inlay_call inlay_call;

/* Where a function writes its values. It belongs to the library, and is there during the call. */
typedef struct inlay_output inlay_output;

/* A function that SQL declares in a language of the program's. It belongs to the library, and is there
 * during the call. */
typedef struct inlay_definition inlay_definition;

/* Frees what a program gave with a function, when that is not called any more. */
typedef void (*inlay_destroy)(void *user_data);

/* ---- Errors ---------------------------------------------------------------------------------------------- */

/* Whether a function did what it was asked, or what kind of error it was. The numbers stay what they are. */
typedef enum inlay_status {
  /* It did. */
  INLAY_OK = 0,
  /* The text is not SQL. SQLSTATE 42601. */
  INLAY_ERROR_SYNTAX = 1,
  /* A table, view or table function does not exist. SQLSTATE 42P01. */
  INLAY_ERROR_UNDEFINED_TABLE = 2,
  /* A column does not exist. SQLSTATE 42703. */
  INLAY_ERROR_UNDEFINED_COLUMN = 3,
  /* No function of this name takes these arguments. SQLSTATE 42883. */
  INLAY_ERROR_UNDEFINED_FUNCTION = 4,
  /* A name fits several things. SQLSTATE 42702. */
  INLAY_ERROR_AMBIGUOUS = 5,
  /* A name is taken. SQLSTATE 42P07. */
  INLAY_ERROR_DUPLICATE = 6,
  /* Types do not fit. SQLSTATE 42804. */
  INLAY_ERROR_TYPE_MISMATCH = 7,
  /* What is neither grouped nor aggregated. SQLSTATE 42803. */
  INLAY_ERROR_GROUPING = 8,
  /* A window function where it may not be. SQLSTATE 42P20. */
  INLAY_ERROR_WINDOWING = 9,
  /* Another semantic error. SQLSTATE 42P10. */
  INLAY_ERROR_BIND = 10,
  /* A text is no value of a type. SQLSTATE 22018. */
  INLAY_ERROR_INVALID_CAST = 11,
  /* A value is outside its type's range. SQLSTATE 22003. */
  INLAY_ERROR_OUT_OF_RANGE = 12,
  /* A division by zero. SQLSTATE 22012. */
  INLAY_ERROR_DIVISION_BY_ZERO = 13,
  /* An argument of a function, setting or call is not acceptable. SQLSTATE 22023. */
  INLAY_ERROR_INVALID_ARGUMENT = 14,
  /* A scalar subquery gave several rows. SQLSTATE 21000. */
  INLAY_ERROR_SUBQUERY_ROWS = 15,
  /* NULL where a column may not hold it. SQLSTATE 23502. */
  INLAY_ERROR_NOT_NULL = 16,
  /* A key that is there already. SQLSTATE 23505. */
  INLAY_ERROR_UNIQUE = 17,
  /* A CHECK constraint is violated. SQLSTATE 23514. */
  INLAY_ERROR_CHECK = 18,
  /* A foreign key is violated. SQLSTATE 23503. */
  INLAY_ERROR_FOREIGN_KEY = 19,
  /* A statement would change one row twice. SQLSTATE 21000. */
  INLAY_ERROR_CARDINALITY = 20,
  /* The operating system refused. SQLSTATE 58030. */
  INLAY_ERROR_IO = 21,
  /* The disk or a quota is full. SQLSTATE 53100. */
  INLAY_ERROR_DISK_FULL = 22,
  /* A database file or its log is damaged. SQLSTATE XX001. */
  INLAY_ERROR_CORRUPT = 23,
  /* A file is in use by another process. SQLSTATE 55P03. */
  INLAY_ERROR_LOCKED = 24,
  /* A change where there is only reading. SQLSTATE 25006. */
  INLAY_ERROR_READ_ONLY = 25,
  /* A data file does not follow its format. SQLSTATE 22P04. */
  INLAY_ERROR_MALFORMED_FILE = 26,
  /* The statement was interrupted. SQLSTATE 57014. */
  INLAY_ERROR_INTERRUPTED = 27,
  /* The statement took longer than it may. SQLSTATE 57014. */
  INLAY_ERROR_STATEMENT_TIMEOUT = 28,
  /* A file that statements may not touch. SQLSTATE 42501. */
  INLAY_ERROR_FILE_ACCESS = 29,
  /* Something that may not be done here. SQLSTATE 42501. */
  INLAY_ERROR_FORBIDDEN = 30,
  /* A function of the host failed. SQLSTATE 38000. */
  INLAY_ERROR_EXTERNAL = 31,
  /* The memory limit is reached. SQLSTATE 53200. */
  INLAY_ERROR_OUT_OF_MEMORY = 32,
  /* Valid SQL that this version does not run. SQLSTATE 0A000. */
  INLAY_ERROR_UNSUPPORTED = 33,
  /* The connection, or what is read from it, is closed. SQLSTATE 08003. */
  INLAY_ERROR_CLOSED = 34,
  /* A concurrent change got in the way; the transaction may be tried again. SQLSTATE 40001. */
  INLAY_ERROR_CONFLICT = 35,
  /* BEGIN, COMMIT or ROLLBACK at the wrong time. SQLSTATE 25000. */
  INLAY_ERROR_TRANSACTION_STATE = 36,
  /* A defect of ours. SQLSTATE XX000. */
  INLAY_ERROR_INTERNAL = 37,
  /* Who wants to come is not let in. SQLSTATE 28P01. */
  INLAY_ERROR_LOGIN = 38
} inlay_status;

/* The status that the function gave; INLAY_OK for NULL. */
inlay_status inlay_error_status(const inlay_error *error);

/* All that is known of the error as one text: message, hint, row and place. Never NULL, but for NULL. */
const char *inlay_error_text(const inlay_error *error);

/* What happened, without hint, row and place. */
const char *inlay_error_message(const inlay_error *error);

/* The five characters of SQLSTATE. */
const char *inlay_error_sqlstate(const inlay_error *error);

/* What to do about it; NULL if that is not known. */
const char *inlay_error_hint(const inlay_error *error);

/* More about it, as the row that it happened in; NULL if there is nothing. */
const char *inlay_error_detail(const inlay_error *error);

/* The line of the statement's text that it is in, from 1; 0 if that is not known. */
uint32_t inlay_error_line(const inlay_error *error);

/* The character of that line, from 1; 0 if that is not known. */
uint32_t inlay_error_column(const inlay_error *error);

/* The character of the whole text, from 1; 0 if that is not known. */
uint32_t inlay_error_offset(const inlay_error *error);

/* Whether the same transaction may succeed if it is tried again. */
bool inlay_error_is_retryable(const inlay_error *error);

/* Frees an error. */
void inlay_error_free(inlay_error **error);

/* The name of a status, "UndefinedTable"; a constant, never NULL. */
const char *inlay_status_name(inlay_status status);

/* ---- Types and arrays ------------------------------------------------------------------------------------ */

/* What type a column or value has. The numbers stay what they are; later versions may have more. */
typedef enum inlay_type_id {
  /* The type of a bare NULL. */
  INLAY_TYPE_NULL = 0,
  /* BOOLEAN: a byte, 0 or 1. */
  INLAY_TYPE_BOOLEAN = 1,
  /* TINYINT: int8_t. */
  INLAY_TYPE_TINYINT = 2,
  /* SMALLINT: int16_t. */
  INLAY_TYPE_SMALLINT = 3,
  /* INTEGER: int32_t. */
  INLAY_TYPE_INTEGER = 4,
  /* BIGINT: int64_t. */
  INLAY_TYPE_BIGINT = 5,
  /* HUGEINT: inlay_int128. */
  INLAY_TYPE_HUGEINT = 6,
  /* UTINYINT: uint8_t. */
  INLAY_TYPE_UTINYINT = 7,
  /* USMALLINT: uint16_t. */
  INLAY_TYPE_USMALLINT = 8,
  /* UINTEGER: uint32_t. */
  INLAY_TYPE_UINTEGER = 9,
  /* UBIGINT: uint64_t. */
  INLAY_TYPE_UBIGINT = 10,
  /* UHUGEINT: inlay_int128, without a sign. */
  INLAY_TYPE_UHUGEINT = 11,
  /* REAL: float. */
  INLAY_TYPE_REAL = 12,
  /* DOUBLE: double. */
  INLAY_TYPE_DOUBLE = 13,
  /* DECIMAL: the number times ten to the power of the scale; int16_t up to 4 digits, int32_t up to 9,
   * int64_t up to 18, else inlay_int128. */
  INLAY_TYPE_DECIMAL = 14,
  /* VARCHAR: UTF-8. */
  INLAY_TYPE_VARCHAR = 15,
  /* BLOB: bytes. */
  INLAY_TYPE_BLOB = 16,
  /* DATE: int32_t, days since 1970-01-01; INT32_MAX and -INT32_MAX are infinity. */
  INLAY_TYPE_DATE = 17,
  /* TIME: int64_t, microseconds since midnight. */
  INLAY_TYPE_TIME = 18,
  /* TIMESTAMP: int64_t, microseconds since 1970-01-01; INT64_MAX and -INT64_MAX are infinity. */
  INLAY_TYPE_TIMESTAMP = 19,
  /* INTERVAL: inlay_interval. */
  INLAY_TYPE_INTERVAL = 20,
  /* TIMESTAMP_S: int64_t, seconds since 1970-01-01. */
  INLAY_TYPE_TIMESTAMP_S = 21,
  /* TIMESTAMP_MS: int64_t, milliseconds since 1970-01-01. */
  INLAY_TYPE_TIMESTAMP_MS = 22,
  /* TIMESTAMP_NS: int64_t, nanoseconds since 1970-01-01. */
  INLAY_TYPE_TIMESTAMP_NS = 23,
  /* TIMESTAMP WITH TIME ZONE: int64_t, microseconds since 1970-01-01 UTC. */
  INLAY_TYPE_TIMESTAMP_TZ = 24,
  /* TIME WITH TIME ZONE: int64_t, see inlay_timetz_parts. */
  INLAY_TYPE_TIME_TZ = 25,
  /* UUID: inlay_int128 whose highest bit is flipped, so that numbers have the order of the texts. */
  INLAY_TYPE_UUID = 26,
  /* BIT: bytes of the library's own; inlay_value_text and inlay_column_text give the digits. */
  INLAY_TYPE_BIT = 27,
  /* JSON: UTF-8. */
  INLAY_TYPE_JSON = 28,
  /* ENUM: the position of the word, uint8_t, uint16_t or uint32_t. */
  INLAY_TYPE_ENUM = 29,
  /* LIST: see inlay_chunk_parts. */
  INLAY_TYPE_LIST = 30,
  /* ARRAY: see inlay_chunk_parts. */
  INLAY_TYPE_ARRAY = 31,
  /* STRUCT: see inlay_chunk_parts. */
  INLAY_TYPE_STRUCT = 32,
  /* MAP: see inlay_chunk_parts. */
  INLAY_TYPE_MAP = 33,
  /* UNION: see inlay_chunk_parts. */
  INLAY_TYPE_UNION = 34
} inlay_type_id;

/* What lies in memory for each value of an array. */
typedef enum inlay_layout {
  /* Of an array of the program's: that of its type. */
  INLAY_LAYOUT_DEFAULT = 0,
  /* A byte, 0 or 1. */
  INLAY_LAYOUT_BOOL = 1,
  /* int8_t. */
  INLAY_LAYOUT_INT8 = 2,
  /* int16_t. */
  INLAY_LAYOUT_INT16 = 3,
  /* int32_t. */
  INLAY_LAYOUT_INT32 = 4,
  /* int64_t. */
  INLAY_LAYOUT_INT64 = 5,
  /* inlay_int128. */
  INLAY_LAYOUT_INT128 = 6,
  /* uint8_t. */
  INLAY_LAYOUT_UINT8 = 7,
  /* uint16_t. */
  INLAY_LAYOUT_UINT16 = 8,
  /* uint32_t. */
  INLAY_LAYOUT_UINT32 = 9,
  /* uint64_t. */
  INLAY_LAYOUT_UINT64 = 10,
  /* inlay_int128, without a sign. */
  INLAY_LAYOUT_UINT128 = 11,
  /* float. */
  INLAY_LAYOUT_FLOAT = 12,
  /* double. */
  INLAY_LAYOUT_DOUBLE = 13,
  /* inlay_interval. */
  INLAY_LAYOUT_INTERVAL = 14,
  /* inlay_bytes: where each text lies, and its size. The default of texts and bytes. */
  INLAY_LAYOUT_BYTES = 15,
  /* Of an array of the program's: const char *, each a text that ends with NUL; a NULL pointer is NULL. */
  INLAY_LAYOUT_STRINGS = 16,
  /* Nothing: the values are made of others, see inlay_chunk_parts. */
  INLAY_LAYOUT_NESTED = 17
} inlay_layout;

/* Bytes, or a text in UTF-8, which need not end with NUL. */
typedef struct inlay_bytes {
  /* Where they lie. */
  const char *data;
  /* How many there are. */
  size_t size;
} inlay_bytes;

/* 128 bits, as the machine has them: the number is high times 2 to the power of 64, plus low. */
typedef struct inlay_int128 {
  /* The lower half. */
  uint64_t low;
  /* The upper half, with the sign. */
  int64_t high;
} inlay_int128;

/* Months, days and microseconds, which are added one after the other. */
typedef struct inlay_interval {
  /* Months of the calendar. */
  int32_t months;
  /* Days. */
  int32_t days;
  /* Microseconds. */
  int64_t micros;
} inlay_interval;

/* The number unscaled, divided by ten to the power of scale. */
typedef struct inlay_decimal {
  /* All digits. */
  inlay_int128 unscaled;
  /* How many digits there may be, 1 to 38. */
  uint8_t precision;
  /* How many of them are behind the point. */
  uint8_t scale;
} inlay_decimal;

/* The values of a column, one behind the other. The library gives such arrays, and takes them. */
typedef struct inlay_array {
  /* What the values are. */
  inlay_type_id type_id;
  /* How they lie in memory; INLAY_LAYOUT_DEFAULT, or INLAY_LAYOUT_STRINGS for texts, where the program
   * gives the array. */
  inlay_layout layout;
  /* Of a DECIMAL: how many digits there may be. */
  uint8_t precision;
  /* Of a DECIMAL: how many digits are behind the point. */
  uint8_t scale;
  /* Bytes of a value; the library does not look at it in arrays of the program's. */
  size_t width;
  /* How many values there are, NULLs among them. */
  size_t count;
  /* The values. What lies where one is NULL is no value. */
  const void *data;
  /* Which are values: bit row % 64 of word row / 64 is set. A NULL pointer says that none is NULL. */
  const uint64_t *validity;
} inlay_array;

/* ---- Types with their parts ------------------------------------------------------------------------------ */

/* Reads a type as SQL writes it: "DECIMAL(12, 2)", "STRUCT(a INTEGER, b VARCHAR[])". To be freed by
 * inlay_type_free. */
inlay_status inlay_type_parse(const char *text, inlay_type **type_, inlay_error **error);

/* The number of a type. */
inlay_type_id inlay_type_get_id(const inlay_type *type_);

/* The type as SQL writes it; it belongs to the type. */
const char *inlay_type_text(const inlay_type *type_);

/* Of a DECIMAL: how many digits there may be; 0 for others. */
uint8_t inlay_type_precision(const inlay_type *type_);

/* Of a DECIMAL: how many digits are behind the point; 0 for others. */
uint8_t inlay_type_scale(const inlay_type *type_);

/* Of an ARRAY: how many elements each has; of an ENUM: how many words there are; else how many types it is
 * made of. */
size_t inlay_type_size(const inlay_type *type_);

/* A type that it is made of, from 0; NULL if there is none. It belongs to the type. */
const inlay_type *inlay_type_part(const inlay_type *type_, size_t part);

/* The name of a field or member, or a word of an ENUM, from 0; NULL if there is none. It belongs to the
 * type. */
const char *inlay_type_part_name(const inlay_type *type_, size_t part);

/* Frees a type. */
void inlay_type_free(inlay_type **type_);

/* ---- Days and moments ------------------------------------------------------------------------------------ */

/* A day of the calendar. A month of 0 is none: the year is INT32_MIN for NULL, INT32_MAX and -INT32_MAX
 * for infinity. */
typedef struct inlay_date {
  /* The year; 0 is 1 BC. */
  int32_t year;
  /* 1 to 12. */
  uint8_t month;
  /* 1 to 31. */
  uint8_t day;
} inlay_date;

/* A time of day. An hour of 255 is NULL, or belongs to a day that is none. */
typedef struct inlay_time {
  /* 0 to 24; at 24 all else is 0. */
  uint8_t hour;
  /* 0 to 59. */
  uint8_t minute;
  /* 0 to 59. */
  uint8_t second;
  /* Behind the second. */
  uint32_t nanos;
} inlay_time;

/* A day and a time of day. */
typedef struct inlay_timestamp {
  /* The day. */
  inlay_date date;
  /* The time. */
  inlay_time time;
} inlay_timestamp;

/* The day that a DATE is: days since 1970-01-01. */
inlay_date inlay_date_of_days(int32_t days);

/* Days since 1970-01-01; an error if there is no such day. */
inlay_status inlay_days_of_date(inlay_date date, int32_t *days, inlay_error **error);

/* The time that a TIME is: microseconds since midnight; an hour of 255 if there is no such time. */
inlay_time inlay_time_of_micros(int64_t micros);

/* The moment that is so many units after 1970: 1000000 of them per second for a TIMESTAMP, 1 for
 * TIMESTAMP_S, 1000 for TIMESTAMP_MS, 1000000000 for TIMESTAMP_NS. Other numbers give the moment that is
 * none. */
inlay_timestamp inlay_timestamp_of(int64_t at, int64_t units_per_second);

/* Microseconds since 1970; an error if there is no such moment. Nanoseconds are cut off. */
inlay_status inlay_micros_of_timestamp(inlay_timestamp timestamp, int64_t *micros, inlay_error **error);

/* The local time that a TIME WITH TIME ZONE is, of the 64 bits that lie in memory, and the seconds that it
 * is east of UTC. */
inlay_status inlay_timetz_parts(int64_t stored, inlay_time *time, int32_t *offset, inlay_error **error);

/* ---- Databases ------------------------------------------------------------------------------------------- */

/* The version of the library, as "0.1.0"; a constant. */
const char *inlay_version(void);

/* No settings yet. To be freed by inlay_config_free. */
inlay_status inlay_config_new(inlay_config **config, inlay_error **error);

/* Adds a setting, as SET has it, or access_mode: "read_only", "read_write". Whether it exists is known
 * when the database is opened. */
inlay_status inlay_config_set(inlay_config *config, const char *name, const char *value, inlay_error **error);

/* Frees settings. */
void inlay_config_free(inlay_config **config);

/* Opens the file at a path, which is made if there is none; NULL, "" and ":memory:" are a new database in
 * memory, ":memory:name" the one of that name. A file that is open in this process already gives another
 * handle of the same database. config may be NULL. */
inlay_status inlay_open(
    const char *path,
    const inlay_config *config,
    inlay_database **database,
    inlay_error **error);

/* Frees a database. Connections of it go on; the file is closed with the last of them. */
void inlay_close(inlay_database **database);

/* The path of the database's file, or ":memory:". To be freed by inlay_text_free. */
inlay_status inlay_database_path(inlay_database *database, char **path, inlay_error **error);

/* Bytes that the database holds in memory now. */
uint64_t inlay_database_memory_used(inlay_database *database);

/* Writes a copy of what is committed into a new file, while the database is used. */
inlay_status inlay_database_backup(inlay_database *database, const char *path, inlay_error **error);

/* Frees a text that a function made for the program. */
void inlay_text_free(char **text);

/* ---- Connections ----------------------------------------------------------------------------------------- */

/* How far a statement is. */
typedef struct inlay_progress {
  /* From 0 to 1. */
  double fraction;
  /* Rows read, as far as estimates know. */
  uint64_t rows_done;
  /* Rows that will have been read. */
  uint64_t rows_total;
} inlay_progress;

/* Opens a connection, with settings and a transaction of its own. To be freed by inlay_disconnect. */
inlay_status inlay_connect(inlay_database *database, inlay_connection **connection, inlay_error **error);

/* Frees a connection. An open transaction is rolled back, for which this waits until a statement that runs
 * has ended. Statements and results of it go on. */
void inlay_disconnect(inlay_connection **connection);

/* Begins a transaction; an error if one is open. */
inlay_status inlay_begin(inlay_connection *connection, inlay_error **error);

/* Commits the open transaction; an error if none is open. */
inlay_status inlay_commit(inlay_connection *connection, inlay_error **error);

/* Undoes the open transaction; an error if none is open. */
inlay_status inlay_rollback(inlay_connection *connection, inlay_error **error);

/* Whether a transaction is open. */
bool inlay_in_transaction(inlay_connection *connection);

/* Says whether each statement commits by itself, as it does unless this says otherwise. If not, the first
 * one begins a transaction. */
inlay_status inlay_set_autocommit(inlay_connection *connection, bool is_on, inlay_error **error);

/* Whether each statement commits by itself. */
inlay_status inlay_get_autocommit(inlay_connection *connection, bool *is_on, inlay_error **error);

/* Makes a schema the one where names without a schema are looked up first. */
inlay_status inlay_set_schema(inlay_connection *connection, const char *schema, inlay_error **error);

/* The schema where new tables go. To be freed by inlay_text_free. */
inlay_status inlay_get_schema(inlay_connection *connection, char **schema, inlay_error **error);

/* Gives a setting a value, as SET does. */
inlay_status inlay_set(
    inlay_connection *connection,
    const char *name,
    const char *value,
    inlay_error **error);

/* The value of a setting as text; NULL if it has none. To be freed by inlay_text_free. */
inlay_status inlay_get(inlay_connection *connection, const char *name, char **value, inlay_error **error);

/* The number of the session: current_connection_id() in SQL. */
uint64_t inlay_connection_id(inlay_connection *connection);

/* Ends all calls of a connection that have begun soon, with INLAY_ERROR_INTERRUPTED; one that begins later
 * is not touched, unless it reads rows of an answer that waited to be computed. Any thread may call it at
 * any time. */
void inlay_interrupt(inlay_connection *connection);

/* How far the statement is that runs on a connection; false, and nothing is written, if that is not known.
 * Any thread may call it. */
bool inlay_get_progress(inlay_connection *connection, inlay_progress *progress);

/* ---- Statements ------------------------------------------------------------------------------------------ */

/* Runs the statements of a text; the answer is that of the last one. Of a large one the first rows are
 * there, and the others are computed when they are asked for. To be freed by inlay_result_release. result
 * may be NULL: then all that the text does is done, and its rows are dropped. */
inlay_status inlay_query(
    inlay_connection *connection,
    const char *sql,
    inlay_result **result,
    inlay_error **error);

/* Runs the statements of a text, and says how many rows the last one changed; 0 for one that changes none.
 * changed may be NULL. */
inlay_status inlay_execute(
    inlay_connection *connection,
    const char *sql,
    uint64_t *changed,
    inlay_error **error);

/* Reads a text, whose statements inlay_script_next runs. To be freed by inlay_script_free. */
inlay_status inlay_script_new(
    inlay_connection *connection,
    const char *sql,
    inlay_script **script,
    inlay_error **error);

/* Runs the next statement, and gives its answer; NULL behind the last. After an error the next call runs
 * the statement behind. */
inlay_status inlay_script_next(inlay_script *script, inlay_result **result, inlay_error **error);

/* Frees a script; statements that were not run are not. */
void inlay_script_free(inlay_script **script);

/* ---- Prepared statements --------------------------------------------------------------------------------- */

/* Reads a statement. Its tables need not be there yet. To be freed by inlay_statement_free. */
inlay_status inlay_prepare(
    inlay_connection *connection,
    const char *sql,
    inlay_statement **statement,
    inlay_error **error);

/* Frees a statement. Its results go on. */
void inlay_statement_free(inlay_statement **statement);

/* What the statement is: "SELECT", "INSERT", "CREATE TABLE"; a constant. */
const char *inlay_statement_command(inlay_statement *statement);

/* How many values it takes, those by position and those by name. */
size_t inlay_parameter_count(inlay_statement *statement);

/* The name of a parameter, from 1, without the dollar; NULL for one without a name. It belongs to the
 * statement. */
const char *inlay_parameter_name(inlay_statement *statement, size_t parameter);

/* The number of the parameter with a name, without the dollar; 0 if there is none. */
size_t inlay_parameter_index(inlay_statement *statement, const char *name);

/* The type that the statement converts a parameter to, from 1; INLAY_TYPE_NULL where any will do. */
inlay_status inlay_parameter_type(
    inlay_statement *statement,
    size_t parameter,
    inlay_type_id *type_id,
    inlay_error **error);

/* How many columns its rows have, without running it; 0 if it gives no rows. */
inlay_status inlay_statement_column_count(inlay_statement *statement, size_t *count, inlay_error **error);

/* The name of a column, from 0; it belongs to the statement. NULL if there is none, or
 * inlay_statement_column_count failed. */
const char *inlay_statement_column_name(inlay_statement *statement, size_t column);

/* The type of a column, from 0; INLAY_TYPE_NULL if there is none, or inlay_statement_column_count failed. */
inlay_type_id inlay_statement_column_type(inlay_statement *statement, size_t column);

/* Runs the statement with the values that are bound; all parameters must be. As inlay_query otherwise;
 * result may be NULL. */
inlay_status inlay_statement_query(inlay_statement *statement, inlay_result **result, inlay_error **error);

/* Runs the statement with the values that are bound, and says how many rows it changed. changed may be
 * NULL. */
inlay_status inlay_statement_execute(inlay_statement *statement, uint64_t *changed, inlay_error **error);

/* Runs the statement once for each row of arrays, one array for each parameter, all of one length: all or
 * nothing. What is bound stays as it is. changed may be NULL. */
inlay_status inlay_statement_execute_many(
    inlay_statement *statement,
    const inlay_array *arrays,
    size_t array_count,
    uint64_t *changed,
    inlay_error **error);

/* ---- Values of parameters -------------------------------------------------------------------------------- */

/* Binds NULL to a parameter, from 1; parameters with names follow those by position. A value stays bound
 * until it is bound anew. */
inlay_status inlay_bind_null(inlay_statement *statement, size_t parameter, inlay_error **error);

/* Binds a BOOLEAN. */
inlay_status inlay_bind_bool(inlay_statement *statement, size_t parameter, bool value, inlay_error **error);

/* Binds a TINYINT. */
inlay_status inlay_bind_int8(inlay_statement *statement, size_t parameter, int8_t value, inlay_error **error);

/* Binds a SMALLINT. */
inlay_status inlay_bind_int16(
    inlay_statement *statement,
    size_t parameter,
    int16_t value,
    inlay_error **error);

/* Binds an INTEGER. */
inlay_status inlay_bind_int32(
    inlay_statement *statement,
    size_t parameter,
    int32_t value,
    inlay_error **error);

/* Binds a BIGINT. */
inlay_status inlay_bind_int64(
    inlay_statement *statement,
    size_t parameter,
    int64_t value,
    inlay_error **error);

/* Binds a UTINYINT. */
inlay_status inlay_bind_uint8(
    inlay_statement *statement,
    size_t parameter,
    uint8_t value,
    inlay_error **error);

/* Binds a USMALLINT. */
inlay_status inlay_bind_uint16(
    inlay_statement *statement,
    size_t parameter,
    uint16_t value,
    inlay_error **error);

/* Binds a UINTEGER. */
inlay_status inlay_bind_uint32(
    inlay_statement *statement,
    size_t parameter,
    uint32_t value,
    inlay_error **error);

/* Binds a UBIGINT. */
inlay_status inlay_bind_uint64(
    inlay_statement *statement,
    size_t parameter,
    uint64_t value,
    inlay_error **error);

/* Binds a REAL. */
inlay_status inlay_bind_float(inlay_statement *statement, size_t parameter, float value, inlay_error **error);

/* Binds a DOUBLE. */
inlay_status inlay_bind_double(
    inlay_statement *statement,
    size_t parameter,
    double value,
    inlay_error **error);

/* Binds a HUGEINT. */
inlay_status inlay_bind_int128(
    inlay_statement *statement,
    size_t parameter,
    inlay_int128 value,
    inlay_error **error);

/* Binds a DECIMAL. */
inlay_status inlay_bind_decimal(
    inlay_statement *statement,
    size_t parameter,
    inlay_decimal value,
    inlay_error **error);

/* Binds a VARCHAR of so many bytes, which are copied; NULL is the empty text if size is 0. */
inlay_status inlay_bind_text(
    inlay_statement *statement,
    size_t parameter,
    const char *text,
    size_t size,
    inlay_error **error);

/* Binds a BLOB of so many bytes, which are copied. */
inlay_status inlay_bind_blob(
    inlay_statement *statement,
    size_t parameter,
    const char *data,
    size_t size,
    inlay_error **error);

/* Binds a DATE. */
inlay_status inlay_bind_date(
    inlay_statement *statement,
    size_t parameter,
    inlay_date value,
    inlay_error **error);

/* Binds a TIME. */
inlay_status inlay_bind_time(
    inlay_statement *statement,
    size_t parameter,
    inlay_time value,
    inlay_error **error);

/* Binds a TIMESTAMP. */
inlay_status inlay_bind_timestamp(
    inlay_statement *statement,
    size_t parameter,
    inlay_timestamp value,
    inlay_error **error);

/* Binds a TIMESTAMP WITH TIME ZONE: microseconds since 1970-01-01 UTC. */
inlay_status inlay_bind_timestamptz(
    inlay_statement *statement,
    size_t parameter,
    int64_t micros,
    inlay_error **error);

/* Binds an INTERVAL. */
inlay_status inlay_bind_interval(
    inlay_statement *statement,
    size_t parameter,
    inlay_interval value,
    inlay_error **error);

/* Forgets all values that were bound. */
inlay_status inlay_clear_bindings(inlay_statement *statement, inlay_error **error);

/* ---- Statements that run by themselves ------------------------------------------------------------------- */

/* Starts the statements of a text. To be ended by inlay_pending_finish, or given up by inlay_pending_free. */
inlay_status inlay_start(
    inlay_connection *connection,
    const char *sql,
    inlay_pending **pending,
    inlay_error **error);

/* Starts a prepared statement with the values that are bound. */
inlay_status inlay_statement_start(inlay_statement *statement, inlay_pending **pending, inlay_error **error);

/* Waits until the statement has ended, but no longer than so many milliseconds. Returns whether it has. */
bool inlay_pending_wait(inlay_pending *pending, uint64_t milliseconds);

/* How far it is; false, and nothing is written, if that is not known. */
bool inlay_pending_progress(inlay_pending *pending, inlay_progress *progress);

/* Ends it soon, with INLAY_ERROR_INTERRUPTED: this one, whatever else runs on the connection. Any thread
 * may call it. */
void inlay_pending_interrupt(inlay_pending *pending);

/* Waits for the answer, and frees the statement that was started, whatever came of it. result may be NULL. */
inlay_status inlay_pending_finish(inlay_pending **pending, inlay_result **result, inlay_error **error);

/* Gives a statement up: it is told to end, and its answer is dropped. */
void inlay_pending_free(inlay_pending **pending);

/* ---- Results --------------------------------------------------------------------------------------------- */

/* What kind of answer a result is. */
typedef enum inlay_result_kind {
  /* Of a statement that gives and changes nothing. */
  INLAY_RESULT_NOTHING = 0,
  /* Rows of a query. */
  INLAY_RESULT_ROWS = 1,
  /* Of a statement that changes rows; how many is also there as a row of the column "Count". */
  INLAY_RESULT_CHANGED = 2
} inlay_result_kind;

/* One more holds the result, who lets go of it by inlay_result_release. Any thread may. */
void inlay_result_retain(inlay_result *result);

/* Lets go of a result, which is freed when nobody holds it any more, with all that belongs to it. */
void inlay_result_release(inlay_result **result);

/* What kind of answer it is. */
inlay_result_kind inlay_result_get_kind(inlay_result *result);

/* What was done: "INSERT", "CREATE TABLE"; a constant. */
const char *inlay_result_command(inlay_result *result);

/* What was done and to how many rows, as PostgreSQL tells it: "INSERT 0 3". It belongs to the result. */
const char *inlay_result_tag(inlay_result *result);

/* How many rows the statement changed; -1 for one that changes none. */
int64_t inlay_result_changed_rows(inlay_result *result);

/* How many rows there are; all of them are computed for that. */
inlay_status inlay_result_row_count(inlay_result *result, size_t *count, inlay_error **error);

/* How many columns there are. */
size_t inlay_result_column_count(inlay_result *result);

/* The name of a column, from 0; it belongs to the result. NULL if there is none. */
const char *inlay_result_column_name(inlay_result *result, size_t column);

/* The number of the type of a column, from 0; INLAY_TYPE_NULL if there is none. */
inlay_type_id inlay_result_column_type(inlay_result *result, size_t column);

/* The type of a column with all its parts. To be freed by inlay_type_free. */
inlay_status inlay_result_column_full_type(
    inlay_result *result,
    size_t column,
    inlay_type **type_,
    inlay_error **error);

/* The next rows, some thousand or fewer; NULL behind the last. To be freed by inlay_chunk_free. Rows that
 * were not computed yet are computed by this call, which an interrupt of the connection ends. */
inlay_status inlay_result_next_chunk(inlay_result *result, inlay_chunk **chunk, inlay_error **error);

/* A column of all rows as a chunk that has it alone, for nested values. To be freed by inlay_chunk_free. */
inlay_status inlay_result_column_chunk(
    inlay_result *result,
    size_t column,
    inlay_chunk **chunk,
    inlay_error **error);

/* ---- Columns as they lie in memory ----------------------------------------------------------------------- */

/* A column of all rows as it lies in memory, without conversion and, where rows lie together, without a
 * copy. It belongs to the result; the program only reads it. */
inlay_status inlay_column_view(inlay_result *result, size_t column, inlay_array *array, inlay_error **error);

/* ---- Columns of the program's own ------------------------------------------------------------------------ */

/* A column of all rows of numbers, days or moments as values of fixed width, without a look at which of
 * them are NULL: the least number of the type stands for NULL, and in DOUBLE the NaN whose lower half is
 * 1954, which is R's NA. Those of a table are mapped where they can be, and not copied. To be freed by
 * inlay_buffer_free. */
inlay_status inlay_result_column_buffer(
    inlay_result *result,
    size_t column,
    inlay_buffer **buffer,
    inlay_error **error);

/* The values. */
void *inlay_buffer_data(inlay_buffer *buffer);

/* How many there are. */
size_t inlay_buffer_count(inlay_buffer *buffer);

/* Bytes of each. */
size_t inlay_buffer_width(inlay_buffer *buffer);

/* Frees the values. */
void inlay_buffer_free(inlay_buffer **buffer);

/* Whether a column of all rows may have a NULL: false if it is known to have none, without a look at the
 * values of a table. */
inlay_status inlay_column_may_have_null(
    inlay_result *result,
    size_t column,
    bool *may_have,
    inlay_error **error);

/* ---- Columns as plain arrays ----------------------------------------------------------------------------- */

/* A column as booleans, 0 or 1; NULL is -128. */
typedef struct inlay_bool_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const int8_t *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  int8_t null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(int8_t value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_bool_column;

/* A column of all rows as booleans, 0 or 1; NULL is -128. It belongs to the result; the program only reads
 * it. An error if a value does not fit. */
inlay_status inlay_column_bool(
    inlay_result *result,
    size_t column,
    inlay_bool_column *values,
    inlay_error **error);

/* A column as int8_t; NULL is the least number. */
typedef struct inlay_int8_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const int8_t *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  int8_t null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(int8_t value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_int8_column;

/* A column of all rows as int8_t; NULL is the least number. It belongs to the result; the program only
 * reads it. An error if a value does not fit. */
inlay_status inlay_column_int8(
    inlay_result *result,
    size_t column,
    inlay_int8_column *values,
    inlay_error **error);

/* A column as int16_t; NULL is the least number. */
typedef struct inlay_int16_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const int16_t *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  int16_t null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(int16_t value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_int16_column;

/* A column of all rows as int16_t; NULL is the least number. It belongs to the result; the program only
 * reads it. An error if a value does not fit. */
inlay_status inlay_column_int16(
    inlay_result *result,
    size_t column,
    inlay_int16_column *values,
    inlay_error **error);

/* A column as int32_t; NULL is the least number. */
typedef struct inlay_int32_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const int32_t *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  int32_t null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(int32_t value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_int32_column;

/* A column of all rows as int32_t; NULL is the least number. It belongs to the result; the program only
 * reads it. An error if a value does not fit. */
inlay_status inlay_column_int32(
    inlay_result *result,
    size_t column,
    inlay_int32_column *values,
    inlay_error **error);

/* A column as int64_t; NULL is the least number. */
typedef struct inlay_int64_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const int64_t *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  int64_t null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(int64_t value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_int64_column;

/* A column of all rows as int64_t; NULL is the least number. It belongs to the result; the program only
 * reads it. An error if a value does not fit. */
inlay_status inlay_column_int64(
    inlay_result *result,
    size_t column,
    inlay_int64_column *values,
    inlay_error **error);

/* A column as float; NULL is NaN. */
typedef struct inlay_float_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const float *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  float null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(float value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_float_column;

/* A column of all rows as float; NULL is NaN. It belongs to the result; the program only reads it. An
 * error if a value does not fit. */
inlay_status inlay_column_float(
    inlay_result *result,
    size_t column,
    inlay_float_column *values,
    inlay_error **error);

/* A column as double, of DECIMAL and 128 bits the nearest; NULL is NaN. */
typedef struct inlay_double_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const double *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  double null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(double value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_double_column;

/* A column of all rows as double, of DECIMAL and 128 bits the nearest; NULL is NaN. It belongs to the
 * result; the program only reads it. An error if a value does not fit. */
inlay_status inlay_column_double(
    inlay_result *result,
    size_t column,
    inlay_double_column *values,
    inlay_error **error);

/* A column as texts that end with NUL, of any type as SQL shows it; NULL is NULL. */
typedef struct inlay_text_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const char *const *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  const char *null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(const char *value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_text_column;

/* A column of all rows as texts that end with NUL, of any type as SQL shows it; NULL is NULL. It belongs
 * to the result; the program only reads it. An error if a value does not fit. */
inlay_status inlay_column_text(
    inlay_result *result,
    size_t column,
    inlay_text_column *values,
    inlay_error **error);

/* A column as bytes, of BLOB, VARCHAR and JSON; NULL is NULL. */
typedef struct inlay_blob_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const inlay_bytes *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  inlay_bytes null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(inlay_bytes value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_blob_column;

/* A column of all rows as bytes, of BLOB, VARCHAR and JSON; NULL is NULL. It belongs to the result; the
 * program only reads it. An error if a value does not fit. */
inlay_status inlay_column_blob(
    inlay_result *result,
    size_t column,
    inlay_blob_column *values,
    inlay_error **error);

/* A column as days taken apart, of DATE and TIMESTAMP. */
typedef struct inlay_date_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const inlay_date *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  inlay_date null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(inlay_date value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_date_column;

/* A column of all rows as days taken apart, of DATE and TIMESTAMP. It belongs to the result; the program
 * only reads it. An error if a value does not fit. */
inlay_status inlay_column_date(
    inlay_result *result,
    size_t column,
    inlay_date_column *values,
    inlay_error **error);

/* A column as times taken apart, of TIME and TIMESTAMP. */
typedef struct inlay_time_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const inlay_time *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  inlay_time null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(inlay_time value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_time_column;

/* A column of all rows as times taken apart, of TIME and TIMESTAMP. It belongs to the result; the program
 * only reads it. An error if a value does not fit. */
inlay_status inlay_column_time(
    inlay_result *result,
    size_t column,
    inlay_time_column *values,
    inlay_error **error);

/* A column as moments taken apart, of TIMESTAMP of any precision and DATE; in UTC those with a zone. */
typedef struct inlay_timestamp_column {
  /* What type the column has. */
  inlay_type_id type_id;
  /* The values. */
  const inlay_timestamp *data;
  /* How many there are. */
  size_t count;
  /* What stands where a value is NULL. */
  inlay_timestamp null_value;
  /* Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1. */
  double scale;
  /* Whether a value is NULL; see validity where one may be equal to null_value. */
  bool (*is_null)(inlay_timestamp value);
  /* As in inlay_array. */
  const uint64_t *validity;
} inlay_timestamp_column;

/* A column of all rows as moments taken apart, of TIMESTAMP of any precision and DATE; in UTC those with a
 * zone. It belongs to the result; the program only reads it. An error if a value does not fit. */
inlay_status inlay_column_timestamp(
    inlay_result *result,
    size_t column,
    inlay_timestamp_column *values,
    inlay_error **error);

/* ---- Single values --------------------------------------------------------------------------------------- */

/* Whether a value is NULL. All functions of values count rows and columns from 0; true also if there is no
 * such value. */
bool inlay_value_is_null(inlay_result *result, size_t row, size_t column);

/* A value as BOOLEAN; false for NULL. */
inlay_status inlay_value_bool(
    inlay_result *result,
    size_t row,
    size_t column,
    bool *value,
    inlay_error **error);

/* A value as BIGINT; 0 for NULL, an error if it does not fit. */
inlay_status inlay_value_int64(
    inlay_result *result,
    size_t row,
    size_t column,
    int64_t *value,
    inlay_error **error);

/* A value as UBIGINT; 0 for NULL, an error if it does not fit. */
inlay_status inlay_value_uint64(
    inlay_result *result,
    size_t row,
    size_t column,
    uint64_t *value,
    inlay_error **error);

/* A value as HUGEINT; 0 for NULL, an error if it does not fit. */
inlay_status inlay_value_int128(
    inlay_result *result,
    size_t row,
    size_t column,
    inlay_int128 *value,
    inlay_error **error);

/* A value as DOUBLE, the nearest one; 0 for NULL. */
inlay_status inlay_value_double(
    inlay_result *result,
    size_t row,
    size_t column,
    double *value,
    inlay_error **error);

/* A DECIMAL; 0 for NULL. Whole numbers are decimals without digits behind the point. */
inlay_status inlay_value_decimal(
    inlay_result *result,
    size_t row,
    size_t column,
    inlay_decimal *value,
    inlay_error **error);

/* A value of any type as text that ends with NUL, as SQL shows it; NULL for NULL. It belongs to the
 * result. size, which may be NULL, is set to the bytes before the end. */
inlay_status inlay_value_text(
    inlay_result *result,
    size_t row,
    size_t column,
    const char **text,
    size_t *size,
    inlay_error **error);

/* The bytes of a BLOB, VARCHAR or JSON; NULL for NULL. They belong to the result. */
inlay_status inlay_value_blob(
    inlay_result *result,
    size_t row,
    size_t column,
    const void **data,
    size_t *size,
    inlay_error **error);

/* The day of a DATE or TIMESTAMP, in UTC if it has a zone. */
inlay_status inlay_value_date(
    inlay_result *result,
    size_t row,
    size_t column,
    inlay_date *value,
    inlay_error **error);

/* The time of a TIME, with a zone or not, or of a TIMESTAMP, in UTC if it has a zone. */
inlay_status inlay_value_time(
    inlay_result *result,
    size_t row,
    size_t column,
    inlay_time *value,
    inlay_error **error);

/* The moment of a TIMESTAMP of any precision, in UTC if it has a zone, or the midnight of a DATE. */
inlay_status inlay_value_timestamp(
    inlay_result *result,
    size_t row,
    size_t column,
    inlay_timestamp *value,
    inlay_error **error);

/* An INTERVAL; nothing at all for NULL. */
inlay_status inlay_value_interval(
    inlay_result *result,
    size_t row,
    size_t column,
    inlay_interval *value,
    inlay_error **error);

/* ---- Chunks ---------------------------------------------------------------------------------------------- */

/* How many rows there are. */
size_t inlay_chunk_row_count(inlay_chunk *chunk);

/* How many columns there are. */
size_t inlay_chunk_column_count(inlay_chunk *chunk);

/* A column, from 0, as it lies in memory. It belongs to the chunk; the program only reads it. */
inlay_status inlay_chunk_view(inlay_chunk *chunk, size_t column, inlay_array *array, inlay_error **error);

/* A value of any type as text, as SQL shows it; NULL for NULL. To be freed by inlay_text_free. */
inlay_status inlay_chunk_text(
    inlay_chunk *chunk,
    size_t row,
    size_t column,
    char **text,
    inlay_error **error);

/* What a nested column is made of, as a chunk of its own: the elements of lists and arrays as one column,
 * the keys and values of maps as two, a column for each field of a struct or member of a union. To be
 * freed by inlay_chunk_free. */
inlay_status inlay_chunk_parts(inlay_chunk *chunk, size_t column, inlay_chunk **parts, inlay_error **error);

/* Of the parts of lists, arrays and maps: where the parts of each row begin, and behind the last row the
 * end; NULL for others. It belongs to the chunk. */
const uint32_t *inlay_chunk_offsets(inlay_chunk *parts);

/* Of the parts of unions: the number of the member that each row holds; NULL for others. It belongs to the
 * chunk. */
const uint8_t *inlay_chunk_tags(inlay_chunk *parts);

/* Frees a chunk, and with it its arrays. */
void inlay_chunk_free(inlay_chunk **chunk);

/* ---- Rows into tables ------------------------------------------------------------------------------------ */

/* Puts arrays into a table, all of their rows or none, one for each of its columns in order: no text of
 * SQL is made, none is read. schema may be NULL. Values are converted to the types of the columns.
 * appended, which may be NULL, is set to how many rows there were. */
inlay_status inlay_append(
    inlay_connection *connection,
    const char *schema,
    const char *table,
    const inlay_array *arrays,
    size_t array_count,
    uint64_t *appended,
    inlay_error **error);

/* An appender for a table; schema may be NULL. To be ended by inlay_appender_close, or given up by
 * inlay_appender_free. */
inlay_status inlay_appender_new(
    inlay_connection *connection,
    const char *schema,
    const char *table,
    inlay_appender **appender,
    inlay_error **error);

/* How many columns a row has. */
size_t inlay_appender_column_count(inlay_appender *appender);

/* The type of a column, from 0; INLAY_TYPE_NULL if there is none. */
inlay_type_id inlay_appender_column_type(inlay_appender *appender, size_t column);

/* Adds NULL as the next value of a row. */
inlay_status inlay_append_null(inlay_appender *appender, inlay_error **error);

/* Adds the next value of a row. Values of all these functions are converted to the type of the column. */
inlay_status inlay_append_bool(inlay_appender *appender, bool value, inlay_error **error);

/* Adds a whole number as the next value of a row. */
inlay_status inlay_append_int32(inlay_appender *appender, int32_t value, inlay_error **error);

/* Adds a whole number as the next value of a row. */
inlay_status inlay_append_int64(inlay_appender *appender, int64_t value, inlay_error **error);

/* Adds a whole number as the next value of a row. */
inlay_status inlay_append_uint64(inlay_appender *appender, uint64_t value, inlay_error **error);

/* Adds a number as the next value of a row. */
inlay_status inlay_append_double(inlay_appender *appender, double value, inlay_error **error);

/* Adds a decimal as the next value of a row. */
inlay_status inlay_append_decimal(inlay_appender *appender, inlay_decimal value, inlay_error **error);

/* Adds a text of so many bytes, which are copied, as the next value of a row. */
inlay_status inlay_append_text(inlay_appender *appender, const char *text, size_t size, inlay_error **error);

/* Adds so many bytes, which are copied, as the next value of a row. */
inlay_status inlay_append_blob(inlay_appender *appender, const char *data, size_t size, inlay_error **error);

/* Adds a day as the next value of a row. */
inlay_status inlay_append_date(inlay_appender *appender, inlay_date value, inlay_error **error);

/* Adds a time as the next value of a row. */
inlay_status inlay_append_time(inlay_appender *appender, inlay_time value, inlay_error **error);

/* Adds a moment as the next value of a row. */
inlay_status inlay_append_timestamp(inlay_appender *appender, inlay_timestamp value, inlay_error **error);

/* Adds an interval as the next value of a row. */
inlay_status inlay_append_interval(inlay_appender *appender, inlay_interval value, inlay_error **error);

/* Ends a row. After an error the row is not there. */
inlay_status inlay_appender_end_row(inlay_appender *appender, inlay_error **error);

/* Adds the rows of arrays, one for each column. */
inlay_status inlay_appender_columns(
    inlay_appender *appender,
    const inlay_array *arrays,
    size_t array_count,
    inlay_error **error);

/* Puts what is collected into the table: all of it, or nothing, and then it is not collected any more. */
inlay_status inlay_appender_flush(inlay_appender *appender, inlay_error **error);

/* Flushes the appender and frees it, whatever came of that. appended, which may be NULL, is set to the
 * rows that went into the table. */
inlay_status inlay_appender_close(inlay_appender **appender, uint64_t *appended, inlay_error **error);

/* Frees an appender; what was not flushed is forgotten. */
void inlay_appender_free(inlay_appender **appender);

/* ---- Arrow ----------------------------------------------------------------------------------------------- */

/* The rows of a result that were not read as a stream of Arrow's C interface; the result has none
 * afterwards, unless its columns or values were asked for before. The stream belongs to the program, which
 * calls its release; it keeps what it needs, whatever is closed. Batches are computed when they are asked
 * for. */
inlay_status inlay_result_arrow_stream(
    inlay_result *result,
    struct ArrowArrayStream *stream,
    inlay_error **error);

/* Makes the rows of an Arrow stream a table under a name, for all connections of the database; it is read
 * as a whole, and released. A name that this connection gave before means the new rows. */
inlay_status inlay_register_arrow(
    inlay_connection *connection,
    const char *name,
    struct ArrowArrayStream *stream,
    inlay_error **error);

/* Makes arrays a table under a name, for all connections of the database. They are copied. */
inlay_status inlay_register_arrays(
    inlay_connection *connection,
    const char *name,
    const char *const *column_names,
    const inlay_array *arrays,
    size_t array_count,
    inlay_error **error);

/* Forgets a table that was registered. found, which may be NULL, is set to whether there was one. */
inlay_status inlay_unregister(
    inlay_connection *connection,
    const char *name,
    bool *found,
    inlay_error **error);

/* Puts the rows of an Arrow stream into a table, all of them or none; the stream is read and released.
 * by_name says whether its columns are found by their names, or are those of the table in order. schema
 * and appended may be NULL. */
inlay_status inlay_append_arrow(
    inlay_connection *connection,
    const char *schema,
    const char *table,
    struct ArrowArrayStream *stream,
    bool by_name,
    uint64_t *appended,
    inlay_error **error);

/* ---- Tables of the program's ----------------------------------------------------------------------------- */

/* Asked for a table by its name, on the thread that runs the statement. It gives one by
 * inlay_replacement_query or inlay_replacement_arrow, or leaves replacement as it is: then there is no
 * such table. */
typedef void (*inlay_replacement_scan)(void *user_data, const char *name, inlay_replacement *replacement);

/* Lets a function of the program's be asked for tables that no other thing has the name of, in statements
 * of this connection. A function of NULL ends that. user_data is given to it, and to destroy, if that is
 * not NULL, when it is not asked any more. */
inlay_status inlay_set_replacement_scan(
    inlay_connection *connection,
    inlay_replacement_scan function,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* The name means this query. */
inlay_status inlay_replacement_query(inlay_replacement *replacement, const char *sql, inlay_error **error);

/* The name means the rows of an Arrow stream, which is read as a whole and released. */
inlay_status inlay_replacement_arrow(
    inlay_replacement *replacement,
    struct ArrowArrayStream *stream,
    inlay_error **error);

/* The statement fails with this message. */
void inlay_replacement_fail(inlay_replacement *replacement, const char *message);

/* ---- Functions of the program's -------------------------------------------------------------------------- */

/* What a function promises, and asks for: any of these added up. */
typedef enum inlay_function_flags {
  /* It gives the same for the same arguments, and NULL for NULL: it is never shown a row with a NULL. */
  INLAY_FUNCTION_DEFAULT = 0,
  /* It may give something else whenever it is called. */
  INLAY_FUNCTION_VOLATILE = 1,
  /* It is shown rows with NULLs, too. */
  INLAY_FUNCTION_SEES_NULLS = 2,
  /* Any number of arguments of any type follow those that are declared. */
  INLAY_FUNCTION_VARIADIC = 4,
  /* A scalar function that must see all rows of the query's input at once. */
  INLAY_FUNCTION_WHOLE_COLUMN = 8
} inlay_function_flags;

/* What was given to create_..._function as user_data. */
void *inlay_call_user_data(inlay_call *call);

/* The statement fails with this message, whatever else the function gives. */
void inlay_call_fail(inlay_call *call, const char *message);

/* Whether the statement was interrupted: a function that takes long looks now and then, and returns. */
bool inlay_call_is_interrupted(inlay_call *call);

/* Forgets all functions of the program's of a name. found, which may be NULL, is set to whether there were
 * some. */
inlay_status inlay_remove_function(
    inlay_connection *connection,
    const char *name,
    bool *found,
    inlay_error **error);

/* ---- What functions write to ----------------------------------------------------------------------------- */

/* How many rows there are to write. */
size_t inlay_output_row_count(inlay_output *output);

/* The type of the values. */
inlay_type_id inlay_output_type(inlay_output *output);

/* How many digits a DECIMAL may have; 0 for others. */
uint8_t inlay_output_precision(inlay_output *output);

/* How many digits of a DECIMAL are behind the point; 0 for others. */
uint8_t inlay_output_scale(inlay_output *output);

/* Where the values of a type of fixed width are written, one behind the other; all are 0 before. NULL for
 * texts and bytes. */
void *inlay_output_data(inlay_output *output);

/* Writes a text, or bytes, of so many bytes, which are copied. A row that none is written to is NULL. */
inlay_status inlay_output_set_text(
    inlay_output *output,
    size_t row,
    const char *text,
    size_t size,
    inlay_error **error);

/* Makes the value of a row NULL. */
inlay_status inlay_output_set_null(inlay_output *output, size_t row, inlay_error **error);

/* ---- Scalar functions ------------------------------------------------------------------------------------ */

/* Computes the values of row_count rows, which are in the arrays of the arguments. */
typedef void (*inlay_scalar_function)(inlay_call *call, const inlay_array *arguments, size_t argument_count, size_t row_count, inlay_output *output);

/* Makes a function callable in SQL, by all connections of the database: types are written as SQL writes
 * them. Several of a name differ in the types of their arguments. user_data is given to the function, and
 * to destroy, if that is not NULL, when it is not called any more, or could not be made. */
inlay_status inlay_create_scalar_function(
    inlay_connection *connection,
    const char *name,
    const char *const *argument_types,
    size_t argument_count,
    const char *returns,
    inlay_function_flags flags,
    inlay_scalar_function function,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* ---- Aggregate functions --------------------------------------------------------------------------------- */

/* Computes the values of group_count groups. Rows of a group lie behind each other in the arrays: those of
 * group i from ends[i - 1], or 0, to ends[i]. */
typedef void (*inlay_aggregate_function)(inlay_call *call, const inlay_array *arguments, size_t argument_count, const uint32_t *ends, size_t group_count, inlay_output *output);

/* Makes an aggregate callable in SQL; as inlay_create_scalar_function otherwise. */
inlay_status inlay_create_aggregate_function(
    inlay_connection *connection,
    const char *name,
    const char *const *argument_types,
    size_t argument_count,
    const char *returns,
    inlay_function_flags flags,
    inlay_aggregate_function function,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* ---- Table functions ------------------------------------------------------------------------------------- */

/* Begins a run: gives what the run keeps, which may be NULL. Each argument is an array of one value. */
typedef void *(*inlay_table_begin)(inlay_call *call, const inlay_array *arguments, size_t argument_count);

/* Writes the next rows, at most capacity, and gives how many; 0 at the end. */
typedef size_t (*inlay_table_next)(inlay_call *call, void *state, inlay_output *const *columns, size_t column_count, size_t capacity);

/* Ends a run, whatever became of it: frees what it keeps. Called by any thread. */
typedef void (*inlay_table_end)(void *state);

/* Makes a function callable in FROM, which gives rows of the columns that are declared. begin and end may
 * be NULL. user_data and destroy as in inlay_create_scalar_function. A run is used by one thread at a
 * time; several runs may go on at once. */
inlay_status inlay_create_table_function(
    inlay_connection *connection,
    const char *name,
    const char *const *argument_types,
    size_t argument_count,
    const char *const *column_names,
    const char *const *column_types,
    size_t column_count,
    inlay_table_begin begin,
    inlay_table_next next,
    inlay_table_end end,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* ---- Languages of the program's -------------------------------------------------------------------------- */

/* What a function makes of its arguments. */
typedef enum inlay_function_kind {
  /* A value for each row. */
  INLAY_FUNCTION_SCALAR = 1,
  /* A value for each group of rows. */
  INLAY_FUNCTION_AGGREGATE = 2,
  /* Rows. */
  INLAY_FUNCTION_TABLE = 3
} inlay_function_kind;

/* Asked for the function that a text is, on any thread: it reads the definition, and gives the function by
 * inlay_definition_scalar, inlay_definition_aggregate or inlay_definition_table, or says by
 * inlay_definition_fail why there is none. */
typedef void (*inlay_language)(void *user_data, inlay_definition *definition);

/* Lets functions be written in a language of the program's, in statements of all connections of the
 * database: what stands behind LANGUAGE, and with _MAP behind it where a function is to be called with
 * parts of columns. Functions that are kept in the database run where the setting allow_python, which is
 * also called allow_r, is on. user_data is given to the function, and to destroy, if that is not NULL,
 * when it is not asked any more. */
inlay_status inlay_set_language(
    inlay_connection *connection,
    const char *name,
    inlay_language language,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* What kind of function is declared. */
inlay_function_kind inlay_definition_kind(inlay_definition *definition);

/* Whether the text is only to be looked at, as by CREATE FUNCTION: nothing of it is to run, and no
 * function is taken. */
bool inlay_definition_is_check(inlay_definition *definition);

/* The name of the function; it belongs to the definition, as all texts of these functions. */
const char *inlay_definition_name(inlay_definition *definition);

/* The text. */
const char *inlay_definition_body(inlay_definition *definition);

/* How many parameters there are. */
size_t inlay_definition_parameter_count(inlay_definition *definition);

/* The name of a parameter, from 0; NULL if there is none. */
const char *inlay_definition_parameter_name(inlay_definition *definition, size_t parameter);

/* The type of a parameter as SQL writes it, from 0; NULL if there is none. */
const char *inlay_definition_parameter_type(inlay_definition *definition, size_t parameter);

/* The type of the values as SQL writes it. */
const char *inlay_definition_returns(inlay_definition *definition);

/* How many columns the rows have; 0 if the function gives none. */
size_t inlay_definition_column_count(inlay_definition *definition);

/* The name of a column, from 0; NULL if there is none. */
const char *inlay_definition_column_name(inlay_definition *definition, size_t column);

/* The type of a column as SQL writes it, from 0; NULL if there is none. */
const char *inlay_definition_column_type(inlay_definition *definition, size_t column);

/* The function, which gives a value for each row. user_data and destroy as in
 * inlay_create_scalar_function. */
inlay_status inlay_definition_scalar(
    inlay_definition *definition,
    inlay_scalar_function function,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* The function, which gives a value for each group. user_data and destroy as in
 * inlay_create_scalar_function. */
inlay_status inlay_definition_aggregate(
    inlay_definition *definition,
    inlay_aggregate_function function,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* The function, which gives rows; as inlay_create_table_function otherwise. */
inlay_status inlay_definition_table(
    inlay_definition *definition,
    inlay_table_begin begin,
    inlay_table_next next,
    inlay_table_end end,
    void *user_data,
    inlay_destroy destroy,
    inlay_error **error);

/* There is no function: the statement fails with this message. */
void inlay_definition_fail(inlay_definition *definition, const char *message);

/* ---- ADBC ------------------------------------------------------------------------------------------------ */

struct AdbcError;

/* The entry point by its own name. Fills the AdbcDriver of a driver manager, as adbc.h says. */
uint8_t inlay_adbc_init(int version, void *driver, struct AdbcError *error);

/* The entry point by the name that is looked for when none was said. */
uint8_t AdbcDriverInit(int version, void *driver, struct AdbcError *error);

#ifdef __cplusplus
}
#endif

#endif
