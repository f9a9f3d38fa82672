/* A rank's output, split where the first byte says, and then read as an error file. */
#include "model/evidence.h"

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char memory[1 << 18];
    static struct evidence evidence;
    static struct finding finding;
    struct json_arena arena;
    char room[EVIDENCE_TAIL_MAX + 1];
    struct buf tail = BUF_OVER(room);
    const char *bytes = (const char *)data;
    size_t step = size > 0 ? data[0] + (size_t)1 : 1;

    evidence_init(&evidence);
    for (size_t at = 0; at < size; at += step)
        evidence_feed(&evidence, (enum evidence_stream)(at / step % 3 == 2), bytes + at,
                      size - at < step ? size - at : step, (int64_t)at);
    evidence_end(&evidence, (int64_t)size);
    evidence_tail(&evidence, 20, &tail);
    json_setup(&arena, memory, sizeof(memory), sizeof(memory));
    json_begin(&arena);
    evidence_read_error_file(bytes, size, 0, &finding);
    return 0;
}
