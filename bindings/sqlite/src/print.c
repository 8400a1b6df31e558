/* The printf family of SQLite's interface: formats of C, and of SQLite's own %q, %Q, %w and %z.
 *
 * Rust cannot define functions with a variable list of arguments. So the names that programs know are in print.rs, and jump to these.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *text;
    size_t used;
    size_t size;
    size_t limit; /* 0 for as much as there is memory */
    int failed;
} inlay_text;

void inlay_text_append(inlay_text *out, const char *bytes, size_t count);

static void fill(inlay_text *out, char byte, long count) {
    while (count-- > 0) inlay_text_append(out, &byte, 1);
}

/* `bytes` in a field of a width. */
static void field(inlay_text *out, const char *bytes, size_t count, int width, int left) {
    if (!left) fill(out, ' ', (long)width - (long)count);
    inlay_text_append(out, bytes, count);
    if (left) fill(out, ' ', (long)width - (long)count);
}

static void quoted(inlay_text *out, const char *text, char kind, int precision, int width, int left) {
    char quote = kind == 'w' ? '"' : '\'';
    inlay_text made = {0};
    if (text == NULL) {
        const char *none = kind == 'Q' ? "NULL" : "(NULL)";
        field(out, none, strlen(none), width, left);
        return;
    }
    if (kind == 'Q') inlay_text_append(&made, "'", 1);
    for (int at = 0; text[at] != '\0' && (precision < 0 || at < precision); at++) {
        inlay_text_append(&made, &text[at], 1);
        if (text[at] == quote) inlay_text_append(&made, &text[at], 1);
    }
    if (kind == 'Q') inlay_text_append(&made, "'", 1);
    field(out, made.text ? made.text : "", made.used, width, left);
    if (made.failed) out->failed = 1;
    free(made.text);
}

/* A number by C's own rules. `flags` are those between the percent sign and the width. */
static void number(inlay_text *out, const char *flags, int width, int precision, char kind, int is_float, double real,
                   unsigned long long bits, int commas) {
    char format[32], small[512];
    char *made = small;
    int length;
    if (precision >= 0) {
        snprintf(format, sizeof format, "%%%s*.*%s%c", flags, is_float ? "" : "ll", kind);
        length = is_float ? snprintf(small, sizeof small, format, width, precision, real)
                          : snprintf(small, sizeof small, format, width, precision, bits);
    } else {
        snprintf(format, sizeof format, "%%%s*%s%c", flags, is_float ? "" : "ll", kind);
        length = is_float ? snprintf(small, sizeof small, format, width, real)
                          : snprintf(small, sizeof small, format, width, bits);
    }
    if (length < 0) return;
    if ((size_t)length >= sizeof small) {
        made = malloc((size_t)length + 1);
        if (made == NULL) {
            out->failed = 1;
            return;
        }
        if (precision >= 0) {
            length = is_float ? snprintf(made, (size_t)length + 1, format, width, precision, real)
                              : snprintf(made, (size_t)length + 1, format, width, precision, bits);
        } else {
            length = is_float ? snprintf(made, (size_t)length + 1, format, width, real)
                              : snprintf(made, (size_t)length + 1, format, width, bits);
        }
    }
    for (int at = 0; at < length; at++) {
        inlay_text_append(out, &made[at], 1);
        int behind = length - at - 1;
        if (commas && made[at] >= '0' && made[at] <= '9' && behind > 0 && behind % 3 == 0) inlay_text_append(out, ",", 1);
    }
    if (made != small) free(made);
}

static void character(inlay_text *out, unsigned code, int repeat, int width, int left) {
    char bytes[4];
    size_t count;
    if (code < 0x80) {
        bytes[0] = (char)code, count = 1;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xC0 | code >> 6), bytes[1] = (char)(0x80 | (code & 63)), count = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xE0 | code >> 12), bytes[1] = (char)(0x80 | (code >> 6 & 63));
        bytes[2] = (char)(0x80 | (code & 63)), count = 3;
    } else {
        bytes[0] = (char)(0xF0 | (code >> 18 & 7)), bytes[1] = (char)(0x80 | (code >> 12 & 63));
        bytes[2] = (char)(0x80 | (code >> 6 & 63)), bytes[3] = (char)(0x80 | (code & 63)), count = 4;
    }
    if (!left) fill(out, ' ', (long)width - 1);
    for (int time = 0; time < (repeat > 1 ? repeat : 1); time++) inlay_text_append(out, bytes, count);
    if (left) fill(out, ' ', (long)width - 1);
}

void inlay_text_vformat(inlay_text *out, const char *format, va_list arguments) {
    va_list list;
    va_copy(list, arguments);
    while (*format) {
        const char *percent = strchr(format, '%');
        if (percent == NULL) {
            inlay_text_append(out, format, strlen(format));
            break;
        }
        inlay_text_append(out, format, (size_t)(percent - format));
        format = percent + 1;
        char flags[8] = {0};
        int left = 0, commas = 0, width = 0, precision = -1, longs = 0, whole = 0;
        for (;; format++) {
            if (*format == ',') commas = 1;
            else if (*format == '!') whole = 1;
            else if (*format && strchr("-+ #0", *format) != NULL) {
                if (*format == '-') left = 1;
                if (strchr(flags, *format) == NULL) flags[strlen(flags)] = *format;
            } else break;
        }
        if (*format == '*') {
            width = va_arg(list, int), format++;
            if (width < 0) left = 1, width = -width, flags[strlen(flags)] = '-';
        } else {
            while (*format >= '0' && *format <= '9' && width < 100000) width = width * 10 + (*format++ - '0');
        }
        if (*format == '.') {
            format++, precision = 0;
            if (*format == '*') precision = va_arg(list, int), format++;
            else while (*format >= '0' && *format <= '9' && precision < 100000) precision = precision * 10 + (*format++ - '0');
        }
        while (*format == 'l' || *format == 'h' || *format == 'z' || *format == 'j') {
            /* A z behind which no number follows is SQLite's own kind. */
            if (*format == 'z' && (format[1] == '\0' || strchr("diuxXo", format[1]) == NULL)) break;
            if (*format != 'h') longs++;
            format++;
        }
        char kind = *format;
        if (kind == '\0') break;
        format++;
        switch (kind) {
        case '%': inlay_text_append(out, "%", 1); break;
        case 'c': character(out, va_arg(list, unsigned), precision, width, left); break;
        case 'd': case 'i': {
            long long value = longs ? va_arg(list, long long) : va_arg(list, int);
            number(out, flags, width, precision, 'd', 0, 0, (unsigned long long)value, commas);
            break;
        }
        case 'u': case 'x': case 'X': case 'o': {
            unsigned long long value = longs ? va_arg(list, unsigned long long) : va_arg(list, unsigned);
            number(out, flags, width, precision, kind, 0, 0, value, commas);
            break;
        }
        case 'p': number(out, flags, width, precision, 'x', 0, 0, (uintptr_t)va_arg(list, void *), 0); break;
        case 'r': {
            int value = va_arg(list, int), last = value % 10;
            const char *end = value / 10 % 10 == 1 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
            number(out, flags, width, precision, 'd', 0, 0, (unsigned long long)value, commas);
            inlay_text_append(out, end, 2);
            break;
        }
        case 'f': case 'e': case 'E': case 'g': case 'G': {
            double value = va_arg(list, double);
            if (value != value) field(out, "NaN", 3, width, left);
            else number(out, flags, width, precision < 0 && !whole ? 6 : precision, kind, 1, value, 0, 0);
            break;
        }
        case 's': case 'z': {
            char *text = va_arg(list, char *);
            size_t count = 0;
            while (text != NULL && (precision < 0 || count < (size_t)precision) && text[count]) count++;
            field(out, text ? text : "", count, width, left);
            if (kind == 'z') {
                extern void sqlite3_free(void *);
                sqlite3_free(text);
            }
            break;
        }
        case 'q': case 'Q': case 'w': quoted(out, va_arg(list, const char *), kind, precision, width, left); break;
        case 'n': break;
        default: inlay_text_append(out, &kind, 1); break;
        }
    }
    va_end(list);
}

void inlay_text_append(inlay_text *out, const char *bytes, size_t count) {
    if (out->failed) return;
    if (out->limit) {
        size_t room = out->limit - 1 - out->used;
        if (count > room) count = room;
    } else if (out->used + count + 1 > out->size) {
        size_t wanted = (out->used + count + 1) * 2 < 64 ? 64 : (out->used + count + 1) * 2;
        char *grown = realloc(out->text, wanted);
        if (grown == NULL) {
            out->failed = 1;
            return;
        }
        out->text = grown, out->size = wanted;
    }
    if (count) memcpy(out->text + out->used, bytes, count);
    out->used += count;
    out->text[out->used] = '\0';
}

static char *finished(inlay_text *out) {
    if (!out->failed && out->text == NULL) inlay_text_append(out, "", 0);
    if (!out->failed) return out->text;
    free(out->text);
    return NULL;
}

char *inlay_vmprintf(const char *format, va_list list) {
    inlay_text out = {0};
    if (format == NULL) return NULL;
    inlay_text_vformat(&out, format, list);
    return finished(&out);
}

char *inlay_mprintf(const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *made = inlay_vmprintf(format, list);
    va_end(list);
    return made;
}

char *inlay_vsnprintf(int size, char *text, const char *format, va_list list) {
    if (size <= 0 || text == NULL || format == NULL) return text;
    inlay_text out = {text, 0, (size_t)size, (size_t)size, 0};
    text[0] = '\0';
    inlay_text_vformat(&out, format, list);
    return text;
}

char *inlay_snprintf(int size, char *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    inlay_vsnprintf(size, text, format, list);
    va_end(list);
    return text;
}

/* A string that grows: what sqlite3_str is. */
inlay_text *inlay_str_new(void) { return calloc(1, sizeof(inlay_text)); }

char *inlay_str_finish(inlay_text *out) {
    if (out == NULL) return NULL;
    char *text = out->failed ? NULL : out->text;
    if (out->failed) free(out->text);
    free(out);
    return text;
}

void inlay_str_reset(inlay_text *out) {
    if (out == NULL) return;
    free(out->text);
    memset(out, 0, sizeof *out);
}

void inlay_str_append(inlay_text *out, const char *bytes, size_t count) {
    if (out != NULL) inlay_text_append(out, bytes, count);
}

void inlay_str_vappendf(inlay_text *out, const char *format, va_list list) {
    if (out != NULL && format != NULL) inlay_text_vformat(out, format, list);
}

void inlay_str_appendf(inlay_text *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    inlay_str_vappendf(out, format, list);
    va_end(list);
}

int inlay_str_errcode(inlay_text *out) { return out == NULL || out->failed ? 7 : 0; }
int inlay_str_length(inlay_text *out) { return out == NULL ? 0 : (int)out->used; }
char *inlay_str_value(inlay_text *out) { return out == NULL ? NULL : out->text; }

/* Functions that take options behind a number; those that are asked for an answer give it. */
int inlay_config(int option, ...) {
    (void)option;
    return 0;
}

int inlay_db_config(void *db, int option, ...) {
    va_list list;
    va_start(list, option);
    if (option >= 1002) {
        int wanted = va_arg(list, int);
        int *answer = va_arg(list, int *);
        extern int sqlite3_inlay_db_flag(void *db, int option, int wanted);
        int now = sqlite3_inlay_db_flag(db, option, wanted);
        if (answer != NULL) *answer = now;
    }
    va_end(list);
    return 0;
}

int inlay_test_control(int option, ...) {
    (void)option;
    return 0;
}

void inlay_log(int code, const char *format, ...) {
    (void)code;
    (void)format;
}

int inlay_vtab_config(void *db, int option, ...) {
    (void)db;
    (void)option;
    return 0;
}
