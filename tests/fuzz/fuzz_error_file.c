/* An error file of torch's, which a rank can write as it likes, and the JSON reader under it. */
#include "model/evidence.h"

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char memory[1 << 18];
    static struct finding finding;
    struct json_arena arena;

    json_setup(&arena, memory, sizeof(memory), sizeof(memory));
    json_begin(&arena);
    evidence_read_error_file((const char *)data, size, 1000, &finding);
    return 0;
}
