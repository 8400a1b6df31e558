/* The printf family of SQLite's interface: formats of C, and of SQLite's own %q, %Q, %w and %z.
 *
 * Rust cannot define functions with a variable list of arguments. So the names that programs know are in print.rs, and jump to these.
 */
#include <limits.h>
#include <locale.h>
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

/* Numbers have a point, whatever the program's locale has. */
static void pointed(char *text, int *length) {
    const char *sign = localeconv()->decimal_point;
    size_t count = sign == NULL ? 0 : strlen(sign);
    if (count == 0 || strcmp(sign, ".") == 0) return;
    char *found = strstr(text, sign);
    if (found == NULL) return;
    *found = '.';
    memmove(found + 1, found + count, strlen(found + count) + 1);
    *length -= (int)(count - 1);
}

static void number(inlay_text *out, const char *flags, int width, int precision, char kind, int is_float, double real,
                   unsigned long long bits, int commas);

/* A number with a digit behind its point, and no zeros that say nothing: what the flag ! asks for. */
static void whole_number(inlay_text *out, const char *flags, int width, int precision, char kind, double real, int left) {
    inlay_text plain = {0}, made = {0};
    char own[8] = {0};
    /* The field is filled when all digits are known. */
    for (const char *flag = flags; *flag; flag++) {
        if (*flag == '+' || *flag == ' ') own[strlen(own)] = *flag;
    }
    number(&plain, own, 0, precision, kind, 1, real, 0, 0);
    const char *text = plain.text ? plain.text : "";
    size_t end = strcspn(text, "eE");
    if (strpbrk(text, "nN") != NULL) { /* inf */
        inlay_text_append(&made, text, plain.used);
    } else {
        size_t kept = end;
        if (memchr(text, '.', end) != NULL) {
            while (kept > 0 && text[kept - 1] == '0') kept--;
            inlay_text_append(&made, text, kept);
            if (kept > 0 && text[kept - 1] == '.') inlay_text_append(&made, "0", 1);
        } else {
            inlay_text_append(&made, text, kept);
            inlay_text_append(&made, ".0", 2);
        }
        inlay_text_append(&made, text + end, plain.used - end);
    }
    field(out, made.text ? made.text : "", made.used, width, left);
    if (made.failed || plain.failed) out->failed = 1;
    free(plain.text);
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
    if (is_float) pointed(made, &length);
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
            if (width < 0) {
                left = 1, width = width == INT_MIN ? 0 : -width;
                if (strchr(flags, '-') == NULL) flags[strlen(flags)] = '-';
            }
        } else {
            while (*format >= '0' && *format <= '9' && width < 100000) width = width * 10 + (*format++ - '0');
        }
        if (*format == '.') {
            format++, precision = 0;
            if (*format == '*') {
                precision = va_arg(list, int), format++;
                if (precision < 0) precision = precision == INT_MIN ? -1 : -precision;
            } else while (*format >= '0' && *format <= '9' && precision < 100000) precision = precision * 10 + (*format++ - '0');
        }
        /* SQLite has no lengths z and j: its %z is a text that is freed. */
        while (*format == 'l' || *format == 'h') {
            if (*format == 'l') longs++;
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
            int digits = precision < 0 ? 6 : precision > 100000 ? 100000 : precision;
            if (value != value) field(out, "NaN", 3, width, left);
            else if (whole) whole_number(out, flags, width, digits, kind, value, left);
            else number(out, flags, width, digits, kind, 1, value, 0, 0);
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
    /* GETMALLOC, GETMUTEX, PCACHE and GETPCACHE2: no answer would be put where the program looks for it. */
    return option == 5 || option == 11 || option == 15 || option == 19;
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
