/*
 * dice.h - the same random numbers in every run and on every machine.
 *
 * Layer: tests only. Recipe: dice_start(7); dice(6) is 0 to 5.
 */
#ifndef TESTS_UNIT_DICE_H
#define TESTS_UNIT_DICE_H

#include <stdint.h>

static uint64_t dice_state = 1;

__attribute__((unused)) static void dice_start(uint64_t seed)
{
    dice_state = seed;
}

__attribute__((unused)) static int dice(int sides)
{
    dice_state = dice_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((dice_state >> 33) % (uint64_t)sides);
}

#endif
