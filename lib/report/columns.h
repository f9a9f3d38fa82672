/*
 * Text for people in 80 columns, a character a column. Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_COLUMNS_H
#define RANKINIT_REPORT_COLUMNS_H

#include <stddef.h>

#include "base/buf.h"

#define COLUMNS 80

/* Bytes of text[len] that take at most `columns` columns. */
size_t columns_bytes(const char *text, size_t len, size_t columns);

/*
 * Adds text as a paragraph, broken at blanks into lines that begin with `first` and then with as many
 * blanks. Characters that could do harm on a terminal become '?'.
 */
void columns_paragraph(const char *first, const char *text, size_t len, struct buf *out);

/* Adds the last lines of somebody's words, each cut to the page's width. */
void columns_quote(const char *text, int lines, struct buf *out);

/* Adds text in a field of that width: cut with "..." or filled up with blanks. */
void columns_field(const char *text, size_t width, struct buf *out);

#endif
