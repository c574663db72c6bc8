/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service.h - what runs in a reader process (reader/reader.h): serves its client's requests until the client has gone.
 *
 * A program that owns sessions, or uses readers otherwise, calls service_main() before anything else in its main().
 */
#ifndef GECKOBPF_SERVICE_SERVICE_H
#define GECKOBPF_SERVICE_SERVICE_H

#include "reader/message.h"

/* If this process was started as a reader: serves, and does not return. If not, it may start readers. */
void service_main(int argc, char **argv);

/*
 * Asks the client of the request that is being served for something. 0: *answer is there, its descriptors the caller's;
 * -EPIPE: there is no such client.
 */
int service_ask(const struct reader_message *ask, struct reader_message *answer);

/*
 * Ends this process when the request is answered: it has open what may hang in close(2), and with it at its end. The client
 * is told by the socket, which takes no other request.
 */
void service_end(void);

#endif
