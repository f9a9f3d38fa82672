/*
 * --install: this program as a file somewhere else, for an init container that
 * brings it into a volume of any image. Layer: sys.
 */
#ifndef RANKINIT_SYS_INSTALL_H
#define RANKINIT_SYS_INSTALL_H

#include "base/err.h"

/*
 * Copies this program to path, mode 0755, whole or not at all: a new file beside it, then rename.
 * Needs nothing but /proc, or the name that it was started by. ERR_SPEC: path is a directory, a
 * link or no regular file, or its directory cannot be written; ERR_SYSTEM: the copy failed (no
 * room). Nothing is left behind then, and what was at path is untouched.
 */
int install_self(const char *path, struct err *err);

#endif
