/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROOM_H
#define ROOM_H

/* Lets as many requests wait in a socket as the host allows. */
void make_room(int fd);

#endif
