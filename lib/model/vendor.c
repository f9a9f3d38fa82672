/*
 * Data only.
 */
#include "model/vendor.h"

#include <stddef.h>

const struct vendor vendors[VENDOR__COUNT] = {
    [VENDOR_NVIDIA] = {.id = VENDOR_NVIDIA,
                       .name = "nvidia",
                       .nodes = "/dev/nvidia*",
                       .variables = {"CUDA_VISIBLE_DEVICES"},
                       .own = "CUDA_VISIBLE_DEVICES",
                       .hide = "",
                       .reader = "the driver",
                       .uuids = true,
                       .mig = true,
                       .loose = true,
                       .by_nodes = true},
    /* ROCR first, then one of the others, whose indices count in what ROCR has left. */
    [VENDOR_AMD] = {.id = VENDOR_AMD,
                    .name = "amd",
                    .nodes = "/dev/kfd with /dev/dri/renderD*",
                    .variables = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                  "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"},
                    .own = "ROCR_VISIBLE_DEVICES",
                    .hide = "-1",
                    .reader = "ROCm",
                    .uuids = true,
                    .by_nodes = true},
    /* Its runtime stops at a blank and at an entry that does not ascend. */
    [VENDOR_ASCEND] = {.id = VENDOR_ASCEND,
                       .name = "ascend",
                       .nodes = "/dev/davinci*",
                       .variables = {"ASCEND_RT_VISIBLE_DEVICES"},
                       .own = "ASCEND_RT_VISIBLE_DEVICES",
                       .hide = "-1",
                       .reader = "the Ascend runtime",
                       .ascending = true,
                       .by_nodes = true},
    [VENDOR_HABANA] = {.id = VENDOR_HABANA,
                       .name = "habana",
                       .nodes = "/dev/accel/accel*",
                       .variables = {"HABANA_VISIBLE_MODULES"},
                       .own = "HABANA_VISIBLE_MODULES",
                       .reader = "the Habana runtime",
                       .by_nodes = true},
    /* Every desktop has such a node: it says nothing of what ranks are for. */
    [VENDOR_INTEL] = {.id = VENDOR_INTEL,
                      .name = "intel",
                      .nodes = "/dev/dri/renderD*",
                      .variables = {"ZE_AFFINITY_MASK"},
                      .own = "ZE_AFFINITY_MASK",
                      .reader = "Level Zero",
                      .tiles = true,
                      .empty_is_all = true},
};
