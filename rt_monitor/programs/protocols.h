/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells by the first bytes of a request or an answer whether a connection can
 * be read as one request after another.  This file needs nothing of the
 * kernel, so that tests can run it in user space.
 */
#ifndef NOVA_RT_PROTOCOLS_H
#define NOVA_RT_PROTOCOLS_H

#include "http.h"

/* The bytes by which the beginning of a request or an answer is told. */
#define HEAD 16
/* The bytes in which a second request is searched; a power of two. */
#define PIECE 256

/* UNCLEAR: requests cannot be told apart, or overtake each other. */
enum speech { UNREAD, OTHER, HTTP, UNCLEAR };

static __always_inline bool starts(const u8 *head, const char *with, u32 size)
{
	u32 differs = 0;

	for (u32 at = 0; at < size; at++)
		differs |= head[at] ^ (u8)with[at];
	return !differs;
}

/* Whether a record of TLS begins here. */
static __always_inline bool is_tls(const u8 *head)
{
	return head[0] >= 0x14 && head[0] <= 0x17 && head[1] == 3 &&
	       head[2] <= 4;
}

/* The addresses of SIP, and of its calls to telephones. */
#define SIP 0x207369703aULL /* " sip:" */
#define SIPS 0x2073697073ULL /* " sips" */
#define TEL 0x2074656c3aULL /* " tel:" */
#define FIVE_BYTES 0xffffffffffULL

/*
 * Whether a message of SIP begins here.  Its requests may have no answer or
 * several answers, and both ends send requests.
 */
static __always_inline bool is_sip(const u8 *head)
{
	u64 window = 0;
	u32 found = starts(head, "SIP/2.0 ", 8);

	/* Linux before 6.6 refuses some loops that clang makes of this one. */
#pragma unroll
	for (u32 at = 0; at < HEAD; at++) {
		window = (window << 8 | head[at]) & FIVE_BYTES;
		found |= window == SIP || window == SIPS || window == TEL;
	}
	return found;
}

/* What a client speaks whose request begins like this. */
static __always_inline u8 speech_of(const u8 *head)
{
	u32 length;
	u8 method;

	if (is_tls(head) || starts(head, "PRI * HTTP/2", 12) ||
	    starts(head, "SSH-", 4) || starts(head, "PROXY ", 6) ||
	    starts(head, "\r\n\r\n\0\r\nQUIT\n", 12))
		return UNCLEAR;
	/* PostgreSQL asks for TLS, and the answer is one byte. */
	if (starts(head, "\0\0\0\x08\x04\xd2\x16\x2f", 8))
		return UNREAD;
	method = method_of(head, &length);
	/* SIP has one method of HTTP. */
	if ((method == NONE || method == OPTIONS) && is_sip(head))
		return UNCLEAR;
	return method != NONE ? HTTP : OTHER;
}

/* The end of a group of messages of PostgreSQL, and its next messages. */
#define SYNC ((u64)'S' << 40 | 4 << 8)
#define PARSE (SYNC | 'P')
#define BIND (SYNC | 'B')
#define SIX_BYTES 0xffffffffffffULL

/*
 * Whether a second request follows in a piece: a line that begins in the same
 * way as the piece itself, or a group of messages of PostgreSQL.
 */
static __always_inline bool repeats(const u8 *piece)
{
	u32 start = '\n' << 24 | piece[0] << 16 | piece[1] << 8 | piece[2];
	u64 window = 0;
	u32 found = 0;

	/* There are no branches, because the verifier would follow each one. */
	for (u32 at = 0; at < PIECE; at++) {
		window = window << 8 | piece[at];
		found |= !((u32)window ^ start);
		found |= !((window & SIX_BYTES) ^ PARSE);
		found |= !((window & SIX_BYTES) ^ BIND);
	}
	return found;
}

/* A second request is searched in the first requests, and in every 16th. */
static __always_inline bool is_searched(u32 turns)
{
	return turns < 8 || !(turns & 15);
}

/* Counts requests; after 255 comes a number that is searched, too. */
static __always_inline u32 next_turn(u32 turns)
{
	return turns < 255 ? turns + 1 : 16;
}

/*
 * Judges how a request begins, or how it goes on if it has begun already.  A
 * request that comes before the answer to the last one makes the connection
 * unclear.
 */
static __always_inline void judge_request(u8 *speech, bool begun,
					  const u8 *head)
{
	u8 found = speech_of(head);

	if (*speech == UNREAD)
		*speech = found;
	else if (begun)
		*speech = *speech == HTTP && found == HTTP ? UNCLEAR : *speech;
	else if (found == UNCLEAR || (*speech == HTTP && found != HTTP))
		*speech = UNCLEAR;
}

/*
 * Judges how an answer begins, or how it goes on if it has begun already.
 * Returns whether it is an interim answer, after which the answer follows.
 */
static __always_inline bool judge_answer(u8 *speech, bool begun,
					 const u8 *head)
{
	u32 status;

	if (*speech != HTTP)
		return 0;
	status = status_of(head);
	/* A second answer to one request, another kind, another protocol. */
	if ((begun ? status >= 200 : !status) || status == SWITCHED)
		*speech = UNCLEAR;
	return !begun && status && status < 200 && status != SWITCHED;
}

#endif
