/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parses the first line of a request and of an answer of HTTP/1 (RFC 9112).
 * This file needs nothing of the kernel, so that tests can run it in user
 * space.
 */
#ifndef NOVA_RT_HTTP_H
#define NOVA_RT_HTTP_H

/* The bytes of a request's line, and of the template of its path. */
#define LINE 64
/* The bytes of an answer's line: "HTTP/1.1 200". */
#define STATUS 12
#define SWITCHED 101	/* to another protocol */

/* A buffer has twice the length of a line, because loads may exceed a line. */
#define ROOM (2 * LINE)

/*
 * Bounds a number for the verifier.  The assembler code keeps the compiler from
 * dropping the bound if it knows that the number is in bounds already.
 */
#ifdef __bpf__
#define BOUND(number, most) asm volatile("%0 &= " #most : "+r"(number))
#else
#define BOUND(number, most) ((number) &= (most))
#endif

/* CONNECT is missing, because the connection then no longer carries HTTP. */
enum method { NONE, GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE };

#define HIGH(c, place) ((u64)(u8)(c) << (56 - 8 * (place)))
#define IS(word, size, a, b, c, d, e, f, g, h) \
	((word) >> (64 - 8 * (size)) == \
	 (HIGH(a, 0) | HIGH(b, 1) | HIGH(c, 2) | HIGH(d, 3) | HIGH(e, 4) | \
	  HIGH(f, 5) | HIGH(g, 6) | HIGH(h, 7)) >> (64 - 8 * (size)))

/* Returns the method at the start of a line of 8 bytes; sets its length. */
static __always_inline u8 method_of(const u8 *line, u32 *length)
{
	u64 word = 0;

	for (u32 at = 0; at < 8; at++)
		word = word << 8 | line[at];
	*length = 4;
	if (IS(word, 4, 'G', 'E', 'T', ' ', 0, 0, 0, 0))
		return GET;
	if (IS(word, 4, 'P', 'U', 'T', ' ', 0, 0, 0, 0))
		return PUT;
	*length = 5;
	if (IS(word, 5, 'H', 'E', 'A', 'D', ' ', 0, 0, 0))
		return HEAD;
	if (IS(word, 5, 'P', 'O', 'S', 'T', ' ', 0, 0, 0))
		return POST;
	*length = 6;
	if (IS(word, 6, 'P', 'A', 'T', 'C', 'H', ' ', 0, 0))
		return PATCH;
	if (IS(word, 6, 'T', 'R', 'A', 'C', 'E', ' ', 0, 0))
		return TRACE;
	*length = 7;
	if (IS(word, 7, 'D', 'E', 'L', 'E', 'T', 'E', ' ', 0))
		return DELETE;
	*length = 8;
	if (IS(word, 8, 'O', 'P', 'T', 'I', 'O', 'N', 'S', ' '))
		return OPTIONS;
	return NONE;
}

static __always_inline bool is_digit(u8 each)
{
	return each >= '0' && each <= '9';
}

static __always_inline bool ends_path(u8 each)
{
	return !each || each == ' ' || each == '?' || each == '#' ||
	       each == '\r' || each == '\n';
}

/* How far the line of a request was read, and the template was written. */
struct reading {
	const u8 *line;
	u8 *path;
	u32 from, to;
	bool digits;
};

static __always_inline void put(struct reading *reading, u8 each)
{
	u32 to = reading->to;

	BOUND(to, 127);
	if (to >= LINE)
		return;
	reading->path[to] = each;
	reading->to = to + 1;
}

/* Reads another byte of the path; returns 1 at the end of the path. */
static long read_path(u32 index, struct reading *reading)
{
	u32 at = reading->from + index;
	u8 each;

	BOUND(at, 127);
	if (at >= LINE)
		return 1;
	each = reading->line[at];
	if (ends_path(each) || (!index && each != '/'))
		return 1;
	if (!is_digit(each)) {
		reading->digits = 0;
		put(reading, each);
	} else if (!reading->digits) {
		reading->digits = 1;
		put(reading, ':');
		put(reading, 'n');
	}
	return 0;
}

/*
 * Writes the template of a line's path: the path without the query, and with :n
 * in the place of digits.  Writes nothing if the target is not a path.  The
 * buffer must be all zeros.
 */
static __always_inline void template_of(const u8 *line, u32 from, u8 *path)
{
	struct reading reading = {
		.line = line, .path = path, .from = from
	};

	bpf_loop(LINE, read_path, &reading, 0);
}

static __always_inline bool has_ended(const u8 *line, u32 filled)
{
	u32 found = filled >= LINE;

	/* There are no branches, because the verifier would follow each one. */
	for (u32 at = 0; at < LINE; at++)
		found |= ((u32)(line[at] ^ '\n') - 1) >> 31;
	return found;
}

/* Returns the status of an answer, 100 to 599; 0: not an answer of HTTP/1. */
static __always_inline u32 status_of(const u8 *line)
{
	if (line[0] != 'H' || line[1] != 'T' || line[2] != 'T' ||
	    line[3] != 'P' || line[4] != '/' || line[5] != '1' ||
	    line[6] != '.' || !is_digit(line[7]) || line[8] != ' ' ||
	    line[9] < '1' || line[9] > '5' || !is_digit(line[10]) ||
	    !is_digit(line[11]))
		return 0;
	return (line[9] - '0') * 100 + (line[10] - '0') * 10 +
	       (line[11] - '0');
}

#endif
