/*
 * Accounts by name or number, from the files /etc/passwd and /etc/group alone: no
 * name service, which a static program could not load. Layer: sys.
 */
#ifndef RANKINIT_SYS_USERS_H
#define RANKINIT_SYS_USERS_H

#include "base/err.h"
#include "model/facts.h"

/*
 * Looks up "USER[:GROUP]", each a name or a number, below sysroot. A number needs no entry. The group
 * is the stated one, else the entry's, else 0. Supplementary groups are those that list the user,
 * none if a group is stated (both as container engines have it). ERR_SPEC naming `origin`: no such
 * name, a bad number, an empty part; *ret is then undefined.
 */
int users_find(const char *sysroot, const char *origin, const char *text, struct facts_user *ret,
               struct err *err);

#endif
