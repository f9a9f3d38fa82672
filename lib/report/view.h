/*
 * What the forms of plan_view are made from: ranks and settings, ready to be
 * shown. Nothing here holds the value of a secret. Layer: report.
 */
#ifndef RANKINIT_REPORT_VIEW_H
#define RANKINIT_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strvec.h"
#include "model/settings.h"
#include "report/plan_view.h"

#define VIEW_NAME_MAX 64

/* One rank as it would be started. */
struct view_rank {
    struct strvec argv;
    struct strvec set;     /* "NAME=value" that was not inherited so */
    struct strvec unset;   /* names that were inherited and go */
    struct strvec devices; /* that it may use */
    struct strvec texts;   /* owns the next three */
    int local_rank;        /* -1: one of many processes, and nobody says which of its node */
    const char *cpus;      /* that it is bound to, "0-7,16"; NULL: none */
    const char *command;   /* argv as one would type it */
    const char *threads;   /* OMP_NUM_THREADS; NULL: unset */
};

/* Ranks of this node; the one program of init mode counts as one. */
int view_rank_count(const struct plan_view *view);

/* Makes a rank. */
void view_rank_make(const struct plan_view *view, int local_rank, struct view_rank *ret);

/* Frees what it owns. */
void view_rank_release(struct view_rank *rank);

/* True for a setting to be shown: what is built, and whatever was stated. */
bool view_shows(const struct plan_view *view, enum option_id id);

/* A setting as it is shown, its texts owned by `texts`; one without value has NULL for it. */
struct setting view_setting(const struct plan_view *view, enum option_id id, struct strvec *texts);

/* "nproc_per_node"; returns room. */
const char *view_name(enum option_id id, char room[static VIEW_NAME_MAX]);

/* Word of an option by its number, "isolated"; returns room. */
const char *view_word(enum option_id id, int index, char room[static VIEW_NAME_MAX]);

/* The error file of every rank, as far as it is known now; NULL: there is none. */
const char *view_error_file(const struct plan_view *view, struct strvec *texts);

#endif
