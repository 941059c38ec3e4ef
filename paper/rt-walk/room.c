/* SPDX-License-Identifier: Apache-2.0 */

/* How many bytes may wait in a socket. */

#include "room.h"

#include <sys/socket.h>

#define ROOM (64 << 20)

void make_room(int fd)
{
	int size = ROOM;

	/* Root may exceed the limit of the host. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}
