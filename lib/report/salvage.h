/*
 * JSON documents that were cut at their end, as the kubelet cuts messages and
 * as pipes break: made whole again from what is left. Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_SALVAGE_H
#define RANKINIT_REPORT_SALVAGE_H

#include <stddef.h>

#define SALVAGE_DEPTH_MAX 64
#define SALVAGE_EXTRA     SALVAGE_DEPTH_MAX /* bytes by which the result may be longer */

/*
 * Writes to out (len + SALVAGE_EXTRA bytes) the longest beginning of text[len] that ends with a
 * whole member or element, and closes what is open there. Returns the size; 0 if there is nothing to
 * save. Whether the result is JSON at all is for a reader to say.
 */
size_t salvage_cut(const char *text, size_t len, char *out);

#endif
