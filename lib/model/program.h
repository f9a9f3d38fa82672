/*
 * What kind of PROGRAM is this: does its name alone ask for ranks, and may a
 * platform's environment fan it out? Layer: model.
 */
#ifndef RANKINIT_MODEL_PROGRAM_H
#define RANKINIT_MODEL_PROGRAM_H

#include <stdbool.h>

enum program_kind {
    PROGRAM_SCRIPT, /* *.py, or -m MODULE: fans out by itself */
    PROGRAM_PYTHON, /* python [-u ...] FILE.py, python -m MODULE that is no launcher:
                       fans out when the platform states a shape */
    PROGRAM_OTHER   /* shells, env, launchers, servers, anything else: never without being asked */
};

/* Kind of the program line argv (NULL-terminated, at least one word); module: -m was given. */
enum program_kind program_classify(const char *const *argv, bool module);

/* True if the path ends in .py and is more than that. */
bool program_is_python_file(const char *path);

/* True if the name (a path's last part, or a python module) is a known launcher of ranks. */
bool program_is_launcher(const char *name);

#endif
