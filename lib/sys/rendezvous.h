/*
 * The rendezvous port of node 0. Layer: sys.
 */
#ifndef RANKINIT_SYS_RENDEZVOUS_H
#define RANKINIT_SYS_RENDEZVOUS_H

#include "base/err.h"

/*
 * Finds a free TCP port outside [avoid_min, avoid_max] (the ephemeral range; inside only when all
 * others are taken) and holds it for all addresses, IPv4 and IPv6: a bound socket that does not listen, bound without SO_REUSEADDR and given it afterwards, so that a
 * TCPStore with SO_REUSEADDR can listen on it while a second holder cannot bind it. Writes the port
 * to *ret_port and returns the socket (close-on-exec, owned by the caller). ERR_PORT, ERR_SYSTEM.
 */
int rendezvous_hold(int avoid_min, int avoid_max, int *ret_port, struct err *err);

/*
 * Checks that a stated port of this node can be bound (SO_REUSEADDR: TIME_WAIT is no obstacle).
 * ERR_PORT naming the holder (pid and command) when /proc shows it; ERR_SPEC for a privileged port.
 */
int rendezvous_probe(int port, struct err *err);

#endif
