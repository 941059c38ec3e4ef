/* SPDX-License-Identifier: Apache-2.0 */

#ifndef RT_WALK_H
#define RT_WALK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Serves requests until a signal comes. */
_Noreturn void run_server(const struct sockaddr_in *address);

/* Sends the requests that standard input lists, and prints their results.
 *
 * Input is a line for each request, in order of time: when to send it in ns
 * from the start, its CPU time in ns, its size in bytes, the connection to use
 * (from 0).  Output is a line for each request, in the same order: when it
 * was sent in ns from the start, ns until the reply or -1 if none came, the
 * CPU time in ns that the server had used by then. */
void run_client(const struct sockaddr_in *address, int type, int connections);

/* Serves the requests that standard input lists, each when its time has come by
 * the clock of this process: nothing is sent.  Input and output are those of
 * run_client; the run begins at the end of the input. */
void run_paced(void);

/* Keeps a CPU busy for some CPU time at the start of every period. */
_Noreturn void run_noise(int64_t busy_ns, int64_t period_ns);

#endif
