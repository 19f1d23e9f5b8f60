#include "events.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* msgspec decodes to the same depth and beyond; nothing that a profiler writes comes near. */
#define MOST_DEPTH 32
/* So many digits always fit 64 bits. */
#define MOST_DIGITS 19
#define MOST_TEXT_BYTES (24u << 20)
/* Below this many microseconds a float64 is exact to half a nanosecond (times.py), and so a column of floats agrees with
 * the digits as they are spelled. */
#define EXACT_US (INT64_C(1) << 43)
#define LATEST_NS (INT64_C(1) << 62)
#define NO_DURATION (-LATEST_NS)
/* As TOO_MANY_BYTES in numbers.py. */
#define TOO_MANY_BYTES (INT64_C(1) << 44)
/* A float64 holds every whole number up to here, and every power of ten up to 10^22. */
#define EXACT_WHOLE (UINT64_C(1) << 53)
#define EXACT_POWER 22

#if defined(__GNUC__)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define UNLIKELY(condition) (condition)
#endif

/* 1: what ends or changes the plain part of a string: its quote, an escape, control characters, all but ASCII. */
static const unsigned char SPECIAL[256] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ['"'] = 1, ['\\'] = 1,
#define R8(n) [n] = 1, [n + 1] = 1, [n + 2] = 1, [n + 3] = 1, [n + 4] = 1, [n + 5] = 1, [n + 6] = 1, [n + 7] = 1
    R8(128), R8(136), R8(144), R8(152), R8(160), R8(168), R8(176), R8(184),
    R8(192), R8(200), R8(208), R8(216), R8(224), R8(232), R8(240), R8(248),
#undef R8
};

static const double POWERS[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const int64_t WHOLE_POWERS[] = {1, 10, 100, 1000};

/* A number as it is spelled: (-) digits * 10^exponent. whole: it has neither point nor exponent. fits: `digits` does. */
typedef struct {
    uint64_t digits;
    int exponent;
    int negative, whole, fits;
} Number;

/* Growing memory -------------------------------------------------------------------------------------------------- */

static int reserve(void **memory, size_t *room, size_t count, size_t size)
{
    if (count <= *room)
        return 1;
    size_t more = *room ? *room : 64;
    while (more < count)
        more *= 2;
    void *grown = more > SIZE_MAX / size ? NULL : realloc(*memory, more * size);
    if (!grown)
        return 0;
    *memory = grown;
    *room = more;
    return 1;
}

static int add_span(Span **spans, size_t *count, size_t *room, Span span)
{
    if (!reserve((void **)spans, room, *count + 1, sizeof **spans))
        return 0;
    (*spans)[(*count)++] = span;
    return 1;
}

void scan_init(Scan *scan)
{
    memset(scan, 0, sizeof *scan);
    table_init(&scan->labels, SIZE_MAX / 2);
    for (int each = 0; each < TEXT_TABLES; each++)
        table_init(&scan->texts[each], MOST_TEXT_BYTES);
}

void scan_free(Scan *scan)
{
    free(scan->rows);
    free(scan->instants);
    free(scan->others);
    free(scan->collectives);
    free(scan->key);
    table_free(&scan->labels);
    for (int each = 0; each < TEXT_TABLES; each++)
        table_free(&scan->texts[each]);
    for (int each = 0; each < COLUMNS; each++)
        free(scan->columns[each].bytes);
    scan_init(scan);
}

/* Pieces of JSON. Each function takes the place where its piece begins and gives the one behind it, NULL for what is odd.
 * They stop at the zero behind the text at the latest. ---------------------------------------------------------------- */

/* The first byte that is no space. Exporters that write one key a line indent each, so after the first two bytes 16 are
 * tried at a time. */
static inline const char *skip_space(const Scan *scan, const char *at)
{
    if (*at > ' ')
        return at;
    if (*at == ' ' && at[1] > ' ')
        return at + 1;
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(' '), line = _mm_set1_epi8('\n'), back = _mm_set1_epi8('\r'), tab = _mm_set1_epi8('\t');
    for (const char *limit = scan->text + scan->length; limit - at >= 16; at += 16) {
        __m128i signs = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i spaces = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(signs, space), _mm_cmpeq_epi8(signs, line)),
                                      _mm_or_si128(_mm_cmpeq_epi8(signs, back), _mm_cmpeq_epi8(signs, tab)));
        int others = ~_mm_movemask_epi8(spaces) & 0xFFFF;
        if (others)
            return at + __builtin_ctz((unsigned)others);
    }
#else
    (void)scan;
#endif
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

static int is_hex(char sign)
{
    return (sign >= '0' && sign <= '9') || ((sign | 32) >= 'a' && (sign | 32) <= 'f');
}

/* Behind an escape. Halves of UTF-16 pairs are left to others. */
static const char *escape_end(const char *at)
{
    if (at[1] == 'u') {
        for (int each = 2; each < 6; each++)
            if (!is_hex(at[each]))
                return NULL;
        return (at[2] | 32) == 'd' && at[3] >= '8' ? NULL : at + 6;
    }
    return at[1] && strchr("\"\\/bfnrt", at[1]) ? at + 2 : NULL;
}

/* Behind a character of several bytes; NULL for what is no UTF-8. */
static const char *character_end(const char *at)
{
    const unsigned char *sign = (const unsigned char *)at;
    unsigned char low = 0x80, high = 0xBF;
    int more = sign[0] >= 0xC2 && sign[0] <= 0xDF ? 1 : (sign[0] & 0xF0) == 0xE0 ? 2 : sign[0] >= 0xF0 && sign[0] <= 0xF4 ? 3 : 0;
    if (sign[0] == 0xE0)
        low = 0xA0; /* shorter ways to write it exist */
    if (sign[0] == 0xF0)
        low = 0x90;
    if (sign[0] == 0xED)
        high = 0x9F; /* halves of pairs */
    if (sign[0] == 0xF4)
        high = 0x8F; /* beyond the last character */
    if (!more || sign[1] < low || sign[1] > high)
        return NULL;
    for (int each = 2; each <= more; each++)
        if ((sign[each] & 0xC0) != 0x80)
            return NULL;
    return at + more + 1;
}

/* The first byte of a string that is special, or one not far before it. Most of a trace is within quotes: 16 bytes are
 * tried at a time where the processor has instructions for that (as signed bytes, all but ASCII is below a space), else 8
 * by the usual arithmetic for "has a byte that is zero" and "has a byte below 32". */
static const char *plain_end(const char *at, const char *limit)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    for (; limit - at >= 16; at += 16) {
        __m128i signs = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(signs, quote), _mm_cmpeq_epi8(signs, slash));
        int found = _mm_movemask_epi8(_mm_or_si128(ends, _mm_cmplt_epi8(signs, space)));
        if (found)
            return at + __builtin_ctz((unsigned)found);
    }
#else
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
    for (; limit - at >= 8; at += 8) {
        uint64_t word, quote, slash;
        memcpy(&word, at, 8);
        quote = word ^ (ones * '"');
        slash = word ^ (ones * '\\');
        if (((quote - ones) | (slash - ones) | (word - ones * 32) | word) & tops)
            break;
    }
#endif
    return at;
}

/* Behind the closing quote of a string whose opening one is here. */
static const char *string_end(const Scan *scan, const char *at)
{
    for (at++;;) {
        at = plain_end(at, scan->text + scan->length);
        while (!SPECIAL[(unsigned char)*at])
            at++;
        if (*at == '"')
            return at + 1;
        at = *at == '\\' ? escape_end(at) : (unsigned char)*at >= 0x80 ? character_end(at) : NULL;
        if (!at)
            return NULL;
    }
}

static int is_digit(char sign)
{
    return sign >= '0' && sign <= '9';
}

static inline const char *read_digits(const char *at, Number *number, int *count)
{
    if (number->digits || *at != '0') { /* most numbers: each digit counts, and all fit */
        const char *begin = at;
        uint64_t digits = number->digits;
        for (; is_digit(*at) && at - begin < MOST_DIGITS; at++)
            digits = digits * 10 + (uint64_t)(*at - '0');
        if (*count + (at - begin) <= MOST_DIGITS && !is_digit(*at)) {
            number->digits = digits;
            *count += (int)(at - begin);
            return at;
        }
        at = begin;
    }
    for (; is_digit(*at); at++) {
        if (number->digits || *at != '0')
            ++*count;
        if (*count <= MOST_DIGITS)
            number->digits = number->digits * 10 + (uint64_t)(*at - '0');
        else if (*count > 200)
            return NULL;
    }
    return at;
}

static const char *read_number(const char *at, Number *number)
{
    int count = 0, exponent = 0, sign;
    *number = (Number){0};
    number->negative = *at == '-';
    at += number->negative;
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])) || !(at = read_digits(at, number, &count)))
        return NULL;
    number->whole = 1;
    if (*at == '.') {
        const char *point = at;
        if (!is_digit(at[1]) || !(at = read_digits(at + 1, number, &count)) || at - point > 200)
            return NULL;
        number->exponent = (int)(point + 1 - at);
        number->whole = 0;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        sign = *at == '-' ? -1 : 1;
        at += *at == '-' || *at == '+';
        if (!is_digit(*at))
            return NULL;
        for (; is_digit(*at); at++)
            if ((exponent = exponent * 10 + (*at - '0')) > 99)
                return NULL; /* perhaps more than a float64 holds */
        number->exponent += sign * exponent;
        number->whole = 0;
    }
    number->fits = count <= MOST_DIGITS;
    return at;
}

static const char *word_end(const char *at, const char *word)
{
    size_t length = strlen(word);
    return strncmp(at, word, length) ? NULL : at + length;
}

/* Behind a value of any type. */
static const char *value_end(const Scan *scan, const char *at, int depth)
{
    Number number;
    char closing;
    switch (*at) {
    case '"':
        return string_end(scan, at);
    case 't':
        return word_end(at, "true");
    case 'f':
        return word_end(at, "false");
    case 'n':
        return word_end(at, "null");
    case '{':
    case '[':
        break;
    default:
        return read_number(at, &number);
    }
    if (depth == MOST_DEPTH)
        return NULL;
    closing = *at == '{' ? '}' : ']';
    at = skip_space(scan, at + 1);
    if (*at == closing)
        return at + 1;
    for (;; at = skip_space(scan, at + 1)) {
        if (closing == '}') {
            if (*at != '"' || !(at = string_end(scan, at)))
                return NULL;
            at = skip_space(scan, at);
            if (*at != ':')
                return NULL;
            at = skip_space(scan, at + 1);
        }
        at = value_end(scan, at, depth + 1);
        if (!at)
            return NULL;
        at = skip_space(scan, at);
        if (*at == closing)
            return at + 1;
        if (*at != ',')
            return NULL;
    }
}

/* Numbers into what columns hold. Each gives 0 where this cannot be done exactly. ------------------------------------- */

static int to_integer(const Number *number, int64_t *value)
{
    if (!number->whole || !number->fits || number->digits > (uint64_t)INT64_MAX)
        return 0;
    *value = number->negative ? -(int64_t)number->digits : (int64_t)number->digits;
    return 1;
}

/* The nearest float64: digits and power are exact, and one operation rounds once (but for processors that calculate with
 * more digits in between). */
static int to_double(const Number *number, double *value)
{
    int power = number->exponent < 0 ? -number->exponent : number->exponent;
    if (FLT_EVAL_METHOD != 0 || !number->fits || number->digits > EXACT_WHOLE || power > EXACT_POWER)
        return 0;
    *value = number->exponent < 0 ? (double)number->digits / POWERS[power] : (double)number->digits * POWERS[power];
    if (number->negative)
        *value = -*value;
    return 1;
}

/* Microseconds with up to three decimals, as they are spelled. */
static int to_spelled_ns(const Number *number, int64_t *ns)
{
    int64_t scale;
    if (!number->fits || number->exponent < -3 || number->exponent > 0)
        return 0;
    scale = WHOLE_POWERS[3 + number->exponent];
    if (number->digits >= (uint64_t)(LATEST_NS / scale))
        return 0;
    *ns = (int64_t)number->digits * scale;
    if (number->negative)
        *ns = -*ns;
    return 1;
}

/* Microseconds in the way of `to_ns` in times.py, to the bit: what is spelled with three decimals is the same there. */
static int to_float_ns(const Number *number, int64_t *ns)
{
    double us, whole;
    if (to_spelled_ns(number, ns) && *ns < EXACT_US * 999 && *ns > -EXACT_US * 999)
        return 1;
    if (!to_double(number, &us) || fabs(us) >= (double)EXACT_US)
        return 0;
    whole = floor(us);
    *ns = (int64_t)whole * 1000 + (int64_t)rint((us - whole) * 1000);
    return 1;
}

/* The nearest nanosecond of exact decimals, the even one of two. */
static int to_rounded_ns(const Number *number, int64_t *ns)
{
    uint64_t divisor = 1, rest;
    if (to_spelled_ns(number, ns))
        return 1;
    if (!number->fits || number->exponent > -4 || number->exponent < -MOST_DIGITS)
        return 0;
    for (int each = number->exponent + 3; each < 0; each++)
        divisor *= 10;
    *ns = (int64_t)(number->digits / divisor);
    rest = number->digits % divisor;
    *ns += rest > divisor / 2 || (rest == divisor / 2 && *ns % 2);
    if (number->negative)
        *ns = -*ns;
    return 1;
}

/* Events -------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int length, argument;
} Known;

/* By length, which alone tells most apart. */
static const Known KNOWN[] = {
    {"grid", 4, GRID}, {"name", 4, ELSEWHERE}, {"Addr", 4, ADDRESS}, {"block", 5, BLOCK}, {"bytes", 5, BYTES},
    {"Bytes", 5, SIZE}, {"device", 6, DEVICE}, {"stream", 6, STREAM}, {"graph id", 8, GRAPH},
    {"src kind", 8, ELSEWHERE}, {"dst kind", 8, ELSEWHERE}, {"l0 queue", 8, OTHER_QUEUE}, {"copy kind", 9, ELSEWHERE},
    {"Device Id", 9, MEMORY_DEVICE}, {"Input Dims", 10, SHAPES}, {"Input type", 10, DTYPES},
    {"Call stack", 10, STACK}, {"sycl queue", 10, QUEUE}, {"module_fqn", 10, ELSEWHERE},
    {"annotation", 10, ELSEWHERE}, {"External id", 11, EXTERNAL}, {"external id", 11, EXTERNAL_2021},
    {"correlation", 11, CORRELATION}, {"memory kind", 11, ELSEWHERE}, {"Device Type", 11, MEMORY_KIND},
    {"Fwd thread id", 13, FORWARD}, {"blocks per SM", 13, PER_SM}, {"shared memory", 13, SHARED_MEMORY},
    {"graph node id", 13, GRAPH_NODE}, {"autograd_phase", 14, ELSEWHERE}, {"Total Reserved", 14, RESERVED},
    {"Sequence number", 15, SEQUENCE}, {"Concrete Inputs", 15, SETTINGS}, {"Collective name", 15, COLLECTIVE},
    {"original_stream", 15, ELSEWHERE}, {"Total Allocated", 15, ALLOCATED}, {"Module Hierarchy", 16, HIERARCHY},
    {"annotated_stream", 16, ELSEWHERE}, {"registers per thread", 20, REGISTERS},
    {"est. achieved occupancy %", 25, OCCUPANCY},
};
#define LONGEST_KNOWN 25
/* The first of each length in KNOWN, and behind them its end. */
static const unsigned char FIRST_KNOWN[LONGEST_KNOWN + 2] = {0, 0, 0, 0, 0, 3, 6, 8, 8, 12, 14, 20, 25, 25, 29, 31,
                                                             36, 38, 38, 38, 38, 39, 39, 39, 39, 39, 40};

static int known_argument(const char *key, size_t length)
{
    if (length > LONGEST_KNOWN)
        return -1;
    for (int each = FIRST_KNOWN[length]; each < FIRST_KNOWN[length + 1]; each++)
        if (*KNOWN[each].name == *key && !memcmp(KNOWN[each].name, key, length))
            return KNOWN[each].argument;
    return -1;
}

/* Three whole numbers in a list. Negative ones are odd: what becomes of them depends on their neighbours (numbers.py). */
static int read_triple(const Scan *scan, const char *at, int64_t triple[3])
{
    Number number;
    if (*at != '[')
        return 0;
    for (int each = 0; each < 3; each++) {
        at = read_number(skip_space(scan, at + 1), &number);
        if (!at || !to_integer(&number, &triple[each]) || triple[each] < 0)
            return 0;
        at = skip_space(scan, at);
        if (*at != (each < 2 ? ',' : ']'))
            return 0;
    }
    return 1;
}

static const char *read_argument(const Scan *scan, const char *at, Row *row, int argument)
{
    const char *end;
    Number number;
    int usual = 1;
    if (argument >= 0) {
        if (row->said >> argument & 1 && argument != ELSEWHERE)
            return NULL; /* said twice */
        row->said |= 1u << argument;
    }
    if (argument >= 0 && (argument < NUMBERS || argument == PER_SM || argument == OCCUPANCY)) {
        if (*at == '-' || is_digit(*at)) {
            end = read_number(at, &number);
            usual = argument < NUMBERS ? to_integer(&number, &row->number[argument])
                                       : to_double(&number, &row->decimal[argument - PER_SM]);
        } else {
            end = value_end(scan, at, 0);
            usual = 0;
        }
    } else {
        end = value_end(scan, at, 0);
        if (argument == GRID || argument == BLOCK)
            usual = end && read_triple(scan, at, row->triple[argument - GRID]);
        else if (argument >= SHAPES && argument < SHAPES + TEXTS && end)
            row->text[argument - SHAPES] = (Span){(size_t)(at - scan->text), (size_t)(end - scan->text)};
    }
    if (!usual)
        row->odd |= 1u << argument;
    return end;
}

static int64_t number_or(const Row *row, int argument, int64_t otherwise)
{
    return row->said >> argument & 1 ? row->number[argument] : otherwise;
}

/* A key of plain ASCII: escapes could spell a known one. Behind its colon. */
static const char *read_key(const Scan *scan, const char *at, const char **key, size_t *length)
{
    if (*at != '"')
        return NULL;
    *key = ++at;
    while (!SPECIAL[(unsigned char)*at])
        at++;
    *length = (size_t)(at - *key);
    if (*at != '"')
        return NULL;
    at = skip_space(scan, at + 1);
    return *at == ':' ? skip_space(scan, at + 1) : NULL;
}

static const char *read_arguments(const Scan *scan, const char *at, Row *row)
{
    const char *key, *begin = at;
    size_t length;
    if (*at != '{')
        return NULL;
    at = skip_space(scan, at + 1);
    if (*at != '}') {
        for (;; at = skip_space(scan, at + 1)) {
            at = read_key(scan, at, &key, &length);
            if (!at || !(at = read_argument(scan, at, row, known_argument(key, length))))
                return NULL;
            at = skip_space(scan, at);
            if (*at == '}')
                break;
            if (*at != ',')
                return NULL;
        }
    }
    row->args = (Span){(size_t)(begin - scan->text), (size_t)(at + 1 - scan->text)};
    return at + 1;
}

/* The keys of an event, in the order of a label's parts first. */
enum { CATEGORY, NAME, PID, TID, LABEL_PARTS, PHASE = LABEL_PARTS, TIME, LENGTH, ARGS, ARROW, OTHER };

static int key_of(const char *key, size_t length)
{
    switch (length) {
    case 2:
        return !memcmp(key, "ph", 2) ? PHASE : !memcmp(key, "ts", 2) ? TIME : !memcmp(key, "id", 2) ? ARROW : OTHER;
    case 3:
        return !memcmp(key, "cat", 3) ? CATEGORY : !memcmp(key, "pid", 3) ? PID : !memcmp(key, "tid", 3) ? TID
                                                : !memcmp(key, "dur", 3)  ? LENGTH : OTHER;
    case 4:
        return !memcmp(key, "name", 4) ? NAME : !memcmp(key, "args", 4) ? ARGS : OTHER;
    default:
        return OTHER;
    }
}

/* What was read of one event: its row so far, and where the parts of its label are. */
typedef struct {
    Span label[LABEL_PARTS], arrow;
    Number time, length;
    uint32_t seen;
    char phase;
} Event;

/* A process or thread: a number or a word. */
static const char *read_track(const Scan *scan, const char *at, int64_t *value, int *said)
{
    Number number;
    if (*at == '"')
        return string_end(scan, at);
    at = read_number(at, &number);
    if (at && number.exponent == 0 && !number.fits)
        return NULL;
    *said = at && to_integer(&number, value);
    return at;
}

static const char *read_value(const Scan *scan, const char *at, int key, Event *event, Row *row)
{
    const char *end;
    switch (key) {
    case PHASE:
        if (at[0] != '"' || !at[1] || at[1] == '\\' || at[2] != '"')
            return NULL;
        event->phase = at[1];
        return at + 3;
    case TIME:
        return read_number(at, &event->time);
    case LENGTH:
        return read_number(at, &event->length);
    case ARGS:
        return read_arguments(scan, at, row);
    case ARROW:
        end = value_end(scan, at, 0);
        if (end)
            event->arrow = (Span){(size_t)(at - scan->text), (size_t)(end - scan->text)};
        return end;
    case CATEGORY:
    case NAME:
        end = *at == '"' ? string_end(scan, at) : NULL;
        break;
    case PID:
        end = read_track(scan, at, &row->pid, &row->pid_said);
        break;
    case TID:
        end = read_track(scan, at, &row->tid, &row->tid_said);
        break;
    default:
        return value_end(scan, at, 0);
    }
    if (end)
        event->label[key] = (Span){(size_t)(at - scan->text), (size_t)(end - scan->text)};
    return end;
}

/* Category, name, process and thread as they are spelled, a line each: no string has a line's end within. */
static int32_t label_of(Scan *scan, const Event *event)
{
    size_t length = LABEL_PARTS - 1;
    char *to;
    for (int each = 0; each < LABEL_PARTS; each++)
        length += event->label[each].end - event->label[each].start;
    if (!reserve((void **)&scan->key, &scan->key_room, length, 1))
        return -1;
    to = scan->key;
    for (int each = 0; each < LABEL_PARTS; each++) {
        size_t part = event->label[each].end - event->label[each].start;
        if (each)
            *to++ = '\n';
        memcpy(to, scan->text + event->label[each].start, part);
        to += part;
    }
    return table_place(&scan->labels, scan->key, length);
}

/* Clearly beyond what a float64 holds exactly; what is near to it is odd. */
static int is_late(const Number *number)
{
    return number->digits >= (uint64_t)EXACT_US && number->fits && number->exponent <= 0
           && number->exponent >= -EXACT_POWER && (double)number->digits / POWERS[-number->exponent] >= 1.001 * (double)EXACT_US;
}

/* The time of an event in ns; 0 where it is odd. */
static int take_time(Scan *scan, const Number *time, int64_t *ns)
{
    if (!scan->exact && is_late(time)) {
        scan->late = 1; /* said at the end: what is odd further on counts more */
        return 1;
    }
    return (scan->exact ? to_rounded_ns : to_float_ns)(time, ns);
}

/* What the allocator said, on the track of its process and thread as they are spelled. */
static int take_allocation(Scan *scan, const Event *event, const Row *row)
{
    const uint32_t all = (1u << ALLOCATOR_NUMBERS) - 1;
    Span pid = event->label[PID], tid = event->label[TID];
    size_t length = pid.end - pid.start + 1 + tid.end - tid.start;
    Instant *instant;
    if (row->odd >> SIZE & all || !(row->said >> SIZE & 1) || row->number[SIZE] >= TOO_MANY_BYTES
        || row->number[SIZE] <= -TOO_MANY_BYTES)
        return ODD;
    if (!reserve((void **)&scan->instants, &scan->instant_room, scan->instant_count + 1, sizeof *scan->instants)
        || !reserve((void **)&scan->key, &scan->key_room, length, 1))
        return ODD;
    instant = &scan->instants[scan->instant_count];
    if (!take_time(scan, &event->time, &instant->time_ns))
        return ODD;
    for (int each = 0; each < ALLOCATOR_NUMBERS; each++)
        instant->number[each] = number_or(row, SIZE + each, -1);
    memcpy(scan->key, scan->text + pid.start, pid.end - pid.start);
    scan->key[pid.end - pid.start] = '\n';
    memcpy(scan->key + length - (tid.end - tid.start), scan->text + tid.start, tid.end - tid.start);
    instant->track = table_place(&scan->texts[OF_TRACKS], scan->key, length);
    if (instant->track < 0)
        return ODD;
    scan->instant_count++;
    return SCANNED;
}

static int is_named(const char *name, size_t length, const char *wanted)
{
    return length == strlen(wanted) && !memcmp(name, wanted, length);
}

/* Of events without a duration only the allocator's say something. */
static int take_instant(Scan *scan, const Event *event, const Row *row, Span span)
{
    const char *name = scan->text + event->label[NAME].start;
    size_t length = event->label[NAME].end - event->label[NAME].start;
    if (!(event->seen >> TIME & 1) || memchr(name, '\\', length))
        return ODD;
    if (is_named(name, length, "\"[memory]\""))
        return take_allocation(scan, event, row);
    if (is_named(name, length, "\"[OutOfMemory]\""))
        return add_span(&scan->others, &scan->other_count, &scan->other_room, span) ? SCANNED : ODD;
    return SCANNED;
}

static int take_timed(Scan *scan, const Event *event, Row *row, Span span)
{
    int64_t ns;
    const Span *category = &event->label[CATEGORY];
    if (category->end - category->start == 19 && !memcmp(scan->text + category->start, "\"cpu_instant_event\"", 19))
        return take_instant(scan, event, row, span); /* Python's exporter of PyTorch 2.13 writes it with a duration */
    if (!(event->seen >> TIME & 1) || !take_time(scan, &event->time, &row->start_ns))
        return ODD;
    row->dur_ns = NO_DURATION;
    if (event->seen >> LENGTH & 1) {
        if (!to_float_ns(&event->length, &ns))
            return ODD;
        row->dur_ns = ns;
    }
    row->label = label_of(scan, event);
    if (row->label < 0)
        return ODD;
    scan->row_count++;
    return SCANNED;
}

static int take_event(Scan *scan, const Event *event, Row *row, Span span)
{
    switch (event->phase) {
    case 'X':
        return take_timed(scan, event, row, span);
    case 'i':
        return take_instant(scan, event, row, span);
    case 's':
    case 'f': /* arrows between nodes of a graph have numbers from 2^40 on, which is of 13 digits */
        if (event->arrow.end - event->arrow.start < 13 || !is_digit(scan->text[event->arrow.start]))
            return SCANNED;
        return add_span(&scan->others, &scan->other_count, &scan->other_room, span) ? SCANNED : ODD;
    case 'C':
        if (event->label[PID].end == 0 || scan->text[event->label[PID].start] != '"')
            return SCANNED; /* those of GPUs have a process of text */
        return add_span(&scan->others, &scan->other_count, &scan->other_room, span) ? SCANNED : ODD;
    case 'M':
    case 'B':
    case 'E':
        return add_span(&scan->others, &scan->other_count, &scan->other_room, span) ? SCANNED : ODD;
    default: /* only counted */
        return event->phase && strchr("tIRbenNODvVPSTpFca(),", event->phase) ? SCANNED : ODD;
    }
}

static const char *read_event(Scan *scan, const char *at)
{
    const char *begin = at, *name;
    size_t length;
    Event event;
    Row *row;
    if (*at != '{' || !reserve((void **)&scan->rows, &scan->row_room, scan->row_count + 1, sizeof *scan->rows))
        return NULL;
    row = &scan->rows[scan->row_count];
    row->said = row->odd = 0;
    row->pid_said = row->tid_said = 0;
    row->args = (Span){0, 0};
    memset(event.label, 0, sizeof event.label);
    event.arrow = (Span){0, 0};
    event.seen = 0;
    event.phase = 0;
    for (at = skip_space(scan, at + 1);; at = skip_space(scan, at + 1)) {
        at = read_key(scan, at, &name, &length);
        if (!at)
            return NULL;
        int key = key_of(name, length);
        if (key != OTHER && event.seen >> key & 1)
            return NULL;
        event.seen |= 1u << key;
        if (!(at = read_value(scan, at, key, &event, row)))
            return NULL;
        at = skip_space(scan, at);
        if (*at == '}')
            break;
        if (*at != ',')
            return NULL;
    }
    at++;
    scan->event_count++;
    Span span = {(size_t)(begin - scan->text), (size_t)(at - scan->text)};
    return take_event(scan, &event, row, span) == SCANNED ? at : NULL;
}

int scan_events(Scan *scan, const char *text, size_t length, int exact)
{
    const char *at = text, *end = text + length;
    scan->text = text;
    scan->length = length;
    scan->exact = exact;
    scan->late = 0;
    scan->event_count = scan->row_count = scan->other_count = scan->collective_count = scan->instant_count = 0;
    for (at = skip_space(scan, at);; at = skip_space(scan, at + 1)) {
        if (!(at = read_event(scan, at)))
            return ODD;
        at = skip_space(scan, at);
        if (at >= end)
            break;
        if (*at != ',')
            return ODD;
    }
    return at > end ? ODD : scan->late ? LATE : SCANNED;
}

/* Columns ------------------------------------------------------------------------------------------------------------- */

static int start_columns(Scan *scan)
{
    for (int each = 0; each < COLUMNS; each++) {
        Column *column = &scan->columns[each];
        int triple = each == OF_GRID || each == OF_BLOCK || each == OF_SHAPED_GRID || each == OF_SHAPED_BLOCK;
        int of_instants = (each >= OF_MEMORY_TIME && each <= OF_MEMORY_RESERVED)
                          || (each >= OF_MEMORY_KIND && each <= OF_MEMORY_TRACK);
        size_t size = triple ? 24 : 8; /* also of int32: they are narrowed at the end */
        size_t count = of_instants ? scan->instant_count : scan->row_count;
        column->used = 0;
        if (!reserve((void **)&column->bytes, &column->room, (count + 1) * size, 1))
            return 0;
    }
    return 1;
}

static void put(Scan *scan, int column, int64_t value)
{
    memcpy(scan->columns[column].bytes + scan->columns[column].used, &value, 8);
    scan->columns[column].used += 8;
}

static void put_decimal(Scan *scan, int column, const Row *row, int argument)
{
    const int64_t none = INT64_C(0x7FF8000000000000); /* NaN as Python writes it */
    int64_t value = none;
    if (row->said >> argument & 1)
        memcpy(&value, &row->decimal[argument - PER_SM], 8);
    put(scan, column, value);
}

/* A text's place in its table; 0 where there is no room for it. */
static int put_text(Scan *scan, int column, const Row *row, int argument)
{
    int32_t place = -1;
    if (row->said >> argument & 1) {
        const Span *span = &row->text[argument - SHAPES];
        place = table_place(table_of(scan, column), scan->text + span->start, span->end - span->start);
        if (place < 0)
            return 0;
    }
    put(scan, column, place);
    return 1;
}

/* In the place of a stream: a small number, or none at all. */
static int has_plain_queue(const Row *row)
{
    if (row->said >> QUEUE & 1)
        return row->number[QUEUE] >= 0 && row->number[QUEUE] < 1 << 24;
    return !(row->said >> OTHER_QUEUE & 1);
}

static int put_device(Scan *scan, const Row *row, int64_t number)
{
    if (!(row->said >> DEVICE & 1 || row->pid_said) || !(row->said >> STREAM & 1 || row->tid_said))
        return 0;
    int64_t stream = number_or(row, STREAM, number_or(row, QUEUE, row->tid));
    if ((!(row->said >> STREAM & 1) && !has_plain_queue(row)) || stream > UINT32_MAX) /* an address */
        return 0;
    put(scan, OF_ON_DEVICE, number);
    put(scan, OF_DEVICE, number_or(row, DEVICE, row->pid));
    put(scan, OF_STREAM, stream);
    put(scan, OF_BYTES, number_or(row, BYTES, -1));
    if (number_or(row, GRAPH_NODE, 0) > 0) { /* 0 is written for what no graph launched */
        put(scan, OF_GRAPHED, number);
        put(scan, OF_GRAPH, number_or(row, GRAPH, -1));
        put(scan, OF_GRAPH_NODE, row->number[GRAPH_NODE]);
    }
    return 1;
}

static int put_op(Scan *scan, const Row *row, int64_t number)
{
    int64_t sequence = number_or(row, SEQUENCE, -1);
    if (sequence != -1) {
        put(scan, OF_NUMBERED, number);
        put(scan, OF_SEQUENCE, sequence);
        put(scan, OF_FORWARD, number_or(row, FORWARD, 0));
    }
    for (int each = 0; each < 2; each++) {
        int argument = each ? HIERARCHY : STACK;
        if (row->said >> argument & 1) {
            put(scan, each ? OF_NESTED : OF_STACKED, number);
            if (!put_text(scan, each ? OF_HIERARCHY : OF_STACK, row, argument))
                return 0;
        }
    }
    return 1;
}

/* Grid and block. */
static void put_shape(Scan *scan, const Row *row, int grid, int block)
{
    for (int each = 0; each < 2; each++)
        for (int axis = 0; axis < 3; axis++)
            put(scan, each ? block : grid, row->said >> (GRID + each) & 1 ? row->triple[each][axis] : -1);
}

/* What a call says of the kernel that it launches. */
static void put_call(Scan *scan, const Row *row, int64_t number)
{
    put(scan, OF_SHAPED, number);
    put_shape(scan, row, OF_SHAPED_GRID, OF_SHAPED_BLOCK);
    put(scan, OF_SHAPED_MEMORY, number_or(row, SHARED_MEMORY, -1));
}

static void put_kernel(Scan *scan, const Row *row, int64_t number)
{
    put(scan, OF_KERNEL, number);
    put_shape(scan, row, OF_GRID, OF_BLOCK);
    put(scan, OF_REGISTERS, number_or(row, REGISTERS, -1));
    put(scan, OF_SHARED_MEMORY, number_or(row, SHARED_MEMORY, -1));
    put_decimal(scan, OF_PER_SM, row, PER_SM);
    put_decimal(scan, OF_OCCUPANCY, row, OCCUPANCY);
}

/* What of a row has to be of its usual type. */
static uint32_t needed(int flags)
{
    uint32_t bits = 1u << CORRELATION | 1u << EXTERNAL | 1u << EXTERNAL_2021;
    if (flags & ON_DEVICE)
        bits |= 1u << DEVICE | 1u << STREAM | 1u << BYTES | 1u << GRAPH | 1u << GRAPH_NODE | 1u << QUEUE;
    if (flags & IS_OP)
        bits |= 1u << SEQUENCE | 1u << FORWARD;
    if (flags & IS_KERNEL)
        bits |= 1u << GRID | 1u << BLOCK | 1u << REGISTERS | 1u << SHARED_MEMORY | 1u << PER_SM | 1u << OCCUPANCY;
    if (flags & IS_CALL)
        bits |= 1u << GRID | 1u << BLOCK | 1u << SHARED_MEMORY;
    return bits;
}

static int put_row(Scan *scan, const Row *row, int flags, int32_t label, int64_t number)
{
    if (UNLIKELY(row->odd & needed(flags)) || UNLIKELY(flags & ON_DEVICE && row->said >> ELSEWHERE & 1))
        return 0;
    put(scan, OF_START, row->start_ns);
    put(scan, OF_DUR, row->dur_ns);
    put(scan, OF_LABEL, label);
    put(scan, OF_CORRELATION, number_or(row, CORRELATION, -1));
    put(scan, OF_EXTERNAL, number_or(row, EXTERNAL, -1));
    put(scan, OF_EXTERNAL_2021, number_or(row, EXTERNAL_2021, -1));
    if (flags & ON_DEVICE && !put_device(scan, row, number))
        return 0;
    if (flags & IS_OP && !put_op(scan, row, number))
        return 0;
    if (flags & WITH_INPUTS) {
        put(scan, OF_WITH_INPUTS, number);
        if (!put_text(scan, OF_SHAPES, row, SHAPES) || !put_text(scan, OF_DTYPES, row, DTYPES))
            return 0;
        if (!(flags & WITH_SETTINGS))
            put(scan, OF_SETTINGS, -1);
        else if (!put_text(scan, OF_SETTINGS, row, SETTINGS))
            return 0;
    }
    if (flags & IS_KERNEL)
        put_kernel(scan, row, number);
    if (flags & IS_CALL && row->said >> GRID & 1)
        put_call(scan, row, number);
    return 1;
}

/* Rows that say of which collective they are: those of ops, then those of kernels, as columns.py takes them. */
static int put_collectives(Scan *scan, int kind, int64_t first)
{
    int64_t number = first;
    for (const Row *row = scan->rows; row < scan->rows + scan->row_count; row++) {
        int flags = scan->labels.entries[row->label].flags;
        if (flags & LEFT_OUT)
            continue;
        if (flags & kind && row->said >> COLLECTIVE & 1) {
            put(scan, OF_COLLECTIVE, number);
            if (!add_span(&scan->collectives, &scan->collective_count, &scan->collective_room, row->args))
                return 0;
        }
        number++;
    }
    return 1;
}

static void put_instants(Scan *scan)
{
    for (const Instant *each = scan->instants; each < scan->instants + scan->instant_count; each++) {
        put(scan, OF_MEMORY_TIME, each->time_ns);
        put(scan, OF_MEMORY_SIZE, each->number[SIZE - SIZE]);
        put(scan, OF_MEMORY_ADDRESS, each->number[ADDRESS - SIZE]);
        put(scan, OF_MEMORY_ALLOCATED, each->number[ALLOCATED - SIZE]);
        put(scan, OF_MEMORY_RESERVED, each->number[RESERVED - SIZE]);
        put(scan, OF_MEMORY_KIND, each->number[MEMORY_KIND - SIZE]);
        put(scan, OF_MEMORY_DEVICE, each->number[MEMORY_DEVICE - SIZE]);
        put(scan, OF_MEMORY_TRACK, each->track);
    }
}

/* int64 -> int32 in place, in the way of `small_integers` in numbers.py. */
static void narrow(Column *column)
{
    size_t count = column->used / 8;
    int64_t value;
    for (size_t each = 0; each < count; each++) {
        int32_t small;
        memcpy(&value, column->bytes + each * 8, 8);
        small = value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : -1;
        memcpy(column->bytes + each * 4, &small, 4);
    }
    column->used = count * 4;
}

int fill_columns(Scan *scan, int64_t first)
{
    int64_t number = first;
    scan->collective_count = 0;
    if (!start_columns(scan))
        return 0;
    for (const Row *row = scan->rows; row < scan->rows + scan->row_count; row++) {
        const Entry *label = &scan->labels.entries[row->label];
        if (label->flags & IS_WINDOW) {
            put(scan, OF_WINDOW_START, row->start_ns);
            put(scan, OF_WINDOW_DUR, row->dur_ns);
        }
        if (label->flags & LEFT_OUT)
            continue;
        if (!put_row(scan, row, label->flags, label->number, number))
            return 0;
        number++;
    }
    if (!put_collectives(scan, IS_OP, first) || !put_collectives(scan, IS_KERNEL, first))
        return 0;
    put_instants(scan);
    for (int each = OF_LABEL; each <= OF_MEMORY_TRACK; each++)
        narrow(&scan->columns[each]);
    return 1;
}

Table *table_of(Scan *scan, int column)
{
    switch (column) {
    case OF_SHAPES:
    case OF_DTYPES:
    case OF_SETTINGS:
        return &scan->texts[OF_INPUTS];
    case OF_STACK:
        return &scan->texts[OF_STACKS];
    case OF_HIERARCHY:
        return &scan->texts[OF_HIERARCHIES];
    case OF_MEMORY_TRACK:
        return &scan->texts[OF_TRACKS];
    default:
        return NULL;
    }
}

void drop_empty_texts(Scan *scan)
{
    static const int pairs[2][2] = {{OF_STACKED, OF_STACK}, {OF_NESTED, OF_HIERARCHY}};
    for (int each = 0; each < 2; each++) {
        Column *row = &scan->columns[pairs[each][0]], *text = &scan->columns[pairs[each][1]];
        size_t kept = 0;
        for (size_t from = 0; from < text->used; from += 4) {
            int32_t number;
            memcpy(&number, text->bytes + from, 4);
            if (number < 0)
                continue;
            memmove(row->bytes + kept, row->bytes + from, 4);
            memmove(text->bytes + kept, text->bytes + from, 4);
            kept += 4;
        }
        row->used = text->used = kept;
    }
}
