#!/usr/bin/env bats
# Documents by the thousand, of outcomes made up at random, against the schema.

load lib

@test "whatever has happened and whatever the budget, the document keeps the schema" {
    RANKINIT_DOCUMENTS=$T/all "$ROOT/build/${VARIANT:-release}/unit/test_summary" any_outcome_fits_any_budget
    [ "$(wc -l <"$T/all")" -ge 2000 ]
    split -l 1 -a 4 "$T/all" "$T/one."
    "$PYTHON" "$ROOT/tests/validate" "$T"/one.*
}
