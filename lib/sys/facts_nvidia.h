/*
 * What the NVIDIA driver says of itself in /proc and /dev/nvidia-caps. It only
 * describes: device nodes decide what is there. Layer: sys.
 */
#ifndef RANKINIT_SYS_FACTS_NVIDIA_H
#define RANKINIT_SYS_FACTS_NVIDIA_H

#include "model/facts.h"

/*
 * Adds to the NVIDIA devices of facts, found before, what /proc/driver/nvidia and sysfs say below
 * sysroot, and the MIG instances whose capabilities we may open.
 */
void facts_nvidia_describe(const char *sysroot, struct facts *facts);

#endif
