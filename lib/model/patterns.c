#include "model/patterns.h"

#include <string.h>

#include "model/collective.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A text with its length: these tables are asked for many lines. */
#define ROW(text)              \
    {                          \
        text, sizeof(text) - 1 \
    }

/* The words of torch 2.x (c10d, gloo, NCCL), of Python and of the C library. */
static const struct {
    enum echo echo;
    const char *text;
} echoes[] = {
    {ECHO_PEER, "Connection closed by peer"},
    {ECHO_PEER, "Connection closed by remote peer"},
    {ECHO_PEER, "remote process exited or there was a network error"},
    {ECHO_PEER, "ncclRemoteError"},
    {ECHO_PEER, "NCCL communicator was aborted"},
    {ECHO_PEER, "recvValue failed"},
    {ECHO_PEER, "recvValueWithTimeout failed"},
    {ECHO_PEER, "Failed to recv, got 0 bytes"},
    {ECHO_PEER, "Connection was likely closed"},
    {ECHO_PEER, "connectFullMesh failed"},
    {ECHO_PEER, "The client socket has failed to connect"},
    {ECHO_PEER, "Failed to check the \"should dump\" flag"},
    {ECHO_WAITED, "The client socket has timed out"},
    {ECHO_WAITED, "Socket Timeout"},
    {ECHO_WAITED, "wait timeout after"},
    {ECHO_SILENT, "ms for recv operation to complete"},
    {ECHO_SILENT, "ms for send operation to complete"},
    {ECHO_SILENT, "Application timeout caused pair closure"},
    {ECHO_SILENT, "failed to pass monitoredBarrier"},
    {ECHO_SILENT, "Watchdog caught collective operation timeout"},
    {ECHO_SILENT,
     "due to collective timeout or exception"}, /* ends NCCL's monitor, c10d's F lines */
    {ECHO_SILENT, "ProcessGroupNCCL watchdog hang"},
    {ECHO_SILENT, "ProcessGroupNCCL's watchdog got stuck for"},
    {ECHO_PEER, "MPI_ERR_PROC_FAILED"},
    {ECHO_PEER, "Transport retry count exceeded"}, /* UCX */
    {ECHO_GENERIC, "Connection reset by peer"},
    {ECHO_GENERIC, "Broken pipe"},
    {ECHO_GENERIC, "ConnectionResetError"},
    {ECHO_GENERIC, "BrokenPipeError"},
    {ECHO_PEER, "is killed by signal: Terminated"}, /* of a data loader: told to stop */
};

/* Lines that begin so end the process that writes them. */
static const struct span fatal_starts[] = {
    ROW("terminate called"),
    ROW("free(): "),
    ROW("double free or corruption"),
    ROW("malloc(): "),
    ROW("malloc_consolidate(): "),
    ROW("realloc(): "),
    ROW("munmap_chunk(): "),
    ROW("corrupted size vs. prev_size"),
    ROW("corrupted double-linked list"),
    ROW("*** stack smashing detected ***"),
    ROW("*** buffer overflow detected ***"),
    ROW("Segmentation fault"),
    ROW("Bus error"),
    ROW("Illegal instruction"),
    ROW("Floating point exception"),
    ROW("CUDA error"),
    ROW("cuDNN error"),
    ROW("cuBLAS error"),
    ROW("NCCL error"),
    ROW("Failed: NCCL error"),
    ROW("Failed, NCCL error"),
    ROW("Failed: Cuda error"),
    ROW("Failed, CUDA error"),
    ROW("Fatal glibc error: "),
    ROW("terminating with uncaught exception"),
    ROW("libc++abi: terminating"),
    ROW("Assertion failed"),
    ROW("fatal error: "),
    ROW("panic: "),
    ROW("Abort("),                    /* MPICH */
    ROW("Fatal error in "),           /* MPICH */
    ROW("MPI_ABORT was invoked on "), /* Open MPI */
};

/* Behind "[host:pid] " of Open MPI; the later of two says more. */
static const struct span fatal_of_mpi[] = {
    ROW("*** An error occurred in MPI_"),
    ROW("*** MPI_ERR_"),
    ROW("*** Process received signal ***"),
    ROW("Signal: "),
};

/* Behind the name of a program and a colon. */
static const struct span fatal_follows[] = {
    ROW(" error: "),          /* argparse */
    ROW(" can't open file "), /* python */
    ROW(" No module named "), /* python -m */
    ROW(" error while loading shared libraries: "),
    ROW(" Error while finding module specification for "),
};

static const struct span noise_starts[] = {
    ROW("  "), /* source under a warning, a backtrace */
    ROW("frame #"),
    ROW("Exception raised from "),
    ROW("Extension modules: "),
    ROW("Aborted"),
    ROW("Killed"),
    ROW("wandb: "),
};

static const struct span noise_parts[] = {
    ROW("Warning: "),
    ROW(" NCCL "),
    ROW("destroy_process_group"),
    ROW("leaked semaphore"),
};

static const struct span harmless_intros[] = {
    ROW("Exception ignored in"),
    ROW("--- Logging error ---"),
    ROW("Error in atexit._run_exitfuncs"),
};

static const struct span library_paths[] = {
    ROW("/site-packages/"),
    ROW("/dist-packages/"),
    ROW("/lib/python3"),
};

static bool starts_any(struct span line, const struct span *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (line.len >= list[i].len && line.text[0] == list[i].text[0] &&
            memcmp(line.text, list[i].text, list[i].len) == 0)
            return true;
    }
    return false;
}

static bool has_any(struct span line, const struct span *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (memmem(line.text, line.len, list[i].text, list[i].len))
            return true;
    }
    return false;
}

enum echo patterns_echo(struct span text)
{
    enum echo echo = ECHO_NONE;

    for (size_t i = 0; i < COUNT(echoes) && echo == ECHO_NONE; i++) {
        if (span_has(text, echoes[i].text))
            echo = echoes[i].echo;
    }
    return echo == ECHO_GENERIC && span_has(text, "gloo/") ? ECHO_PEER : echo;
}

/* Python allows letters of any script. */
static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* "main.<locals>.Boom" */
static bool is_name_or_mark(char c)
{
    return is_name(c) || c == '.' || c == '<' || c == '>';
}

/* Bytes of a dotted name, "<locals>" within it allowed; 0 if there is none. */
static size_t name_size(struct span line)
{
    size_t i = 0;

    if (line.len == 0 || !is_name(line.text[0]) || (line.text[0] >= '0' && line.text[0] <= '9'))
        return 0;
    while (i < line.len && is_name_or_mark(line.text[i]))
        i++;
    return line.text[i - 1] == '.' ? 0 : i;
}

static struct span last_part(struct span name)
{
    const char *dot = memrchr(name.text, '.', name.len);

    return dot ? span_after(name, (size_t)(dot - name.text) + 1) : name;
}

bool patterns_split_exception(struct span line, struct span *ret_type, struct span *ret_message)
{
    size_t size = name_size(line);
    struct span rest;

    if (size == 0)
        return false;
    rest = span_after(line, size);
    if (rest.len > 0 && !span_starts(rest, ": ") && !(rest.len == 1 && rest.text[0] == ':'))
        return false;
    *ret_type = last_part((struct span){line.text, size});
    *ret_message = span_after(rest, rest.len < 2 ? rest.len : 2);
    return true;
}

static bool ends_with(struct span line, const char *suffix)
{
    size_t len = strlen(suffix);

    return line.len >= len && memcmp(line.text + line.len - len, suffix, len) == 0;
}

/* "RuntimeError: text" without a traceback. */
static bool is_bare_exception(struct span line, struct fatal *ret)
{
    if (!patterns_split_exception(line, &ret->type, &ret->message) || ret->message.len == 0)
        return false;
    ret->weak = true;
    return ends_with(ret->type, "Error") || ends_with(ret->type, "Exception");
}

/* "train.c:7:3: runtime error: ...", of the sanitizer for undefined behaviour. */
static bool is_place(struct span line)
{
    const char *colon = memchr(line.text, ':', line.len);
    size_t at = colon ? (size_t)(colon - line.text) + 1 : line.len;

    return at < line.len && line.text[at] >= '0' && line.text[at] <= '9' &&
           !memchr(line.text, ' ', at);
}

/*
 * "train.py: error: text", "train: train.c:7: main: Assertion `0' failed.": a program's name has no
 * blank. A sanitizer begins with "==" and a number.
 */
static bool is_fatal_of_program(struct span line)
{
    const char *colon;

    if (span_starts(line, "=="))
        return span_has(line, "ERROR: ") && span_has(line, "Sanitizer: ");
    if (span_has(line, ": runtime error: "))
        return is_place(line);
    colon = memmem(line.text, line.len, ": ", 2);
    if (!colon || memchr(line.text, ' ', (size_t)(colon - line.text)))
        return false;
    if (starts_any(span_after(line, (size_t)(colon - line.text) + 1), fatal_follows,
                   COUNT(fatal_follows)))
        return true;
    return ends_with(line, " failed.") &&
           (span_has(line, ": Assertion `") || span_has(line, "] Assertion `"));
}

/* "[W1130 21:56:03.592 TCPStore.cpp:340] ..." of torch's C++ side, any level; older ones have no date. */
static bool is_glog(struct span line)
{
    return line.len > 3 && line.text[0] == '[' && memchr("IWEF", line.text[1], 4) &&
           ((line.text[2] >= '0' && line.text[2] <= '9') || line.text[2] == ' ');
}

/* Behind "[...] ", also several of them; NULL where there is none. */
static const char *behind_brackets(struct span line)
{
    const char *found = NULL;

    while (line.len > 0 && line.text[0] == '[') {
        const char *end = memmem(line.text, line.len, "] ", 2);

        if (!end)
            break;
        found = end + 2;
        line = span_after(line, (size_t)(found - line.text));
    }
    return found;
}

/* "[F1130 21:56:03.592 x.cpp:340] " */
static bool is_of_source(struct span line)
{
    const char *end = memchr(line.text, ']', line.len);
    const char *name = end ? memmem(line.text, (size_t)(end - line.text), ".c", 2) : NULL;

    return name && memchr(name, ':', (size_t)(end - name));
}

/* "[trainer-0:4242] " */
static bool is_of_process(struct span line)
{
    const char *end = memchr(line.text, ']', line.len);
    const char *colon = end ? memrchr(line.text, ':', (size_t)(end - line.text)) : NULL;

    if (!colon || colon + 1 == end)
        return false;
    for (colon++; colon < end; colon++) {
        if (*colon < '0' || *colon > '9')
            return false;
    }
    return true;
}

bool patterns_bracketed(struct span line, struct span *ret)
{
    const char *rest;

    if (collective_is_timeout(line, ret))
        return true;
    rest = behind_brackets(line);
    if (!rest)
        return false;
    *ret = span_after(line, (size_t)(rest - line.text));
    if (is_glog(line))
        return line.text[1] == 'F' && is_of_source(line);
    return is_of_process(line) && starts_any(*ret, fatal_of_mpi, COUNT(fatal_of_mpi));
}

/* "terminate called after throwing an instance of 'c10::Error'" */
static void name_thrown(struct fatal *fatal)
{
    static const char before[] = "throwing an instance of '";
    const char *name = memmem(fatal->message.text, fatal->message.len, before, sizeof(before) - 1);
    const char *end = fatal->message.text + fatal->message.len;

    if (!name)
        return;
    name += sizeof(before) - 1;
    fatal->thrown = true;
    fatal->type = (struct span){name, (size_t)(end - name)};
    if (fatal->type.len > 0 && end[-1] == '\'')
        fatal->type.len--;
}

bool patterns_fatal(struct span line, struct fatal *ret)
{
    *ret = (struct fatal){.weak = false, .type = {line.text, 0}, .message = line};
    if (span_starts(line, "["))
        return patterns_bracketed(line, &ret->message);
    if (starts_any(line, fatal_starts, COUNT(fatal_starts)) || is_fatal_of_program(line)) {
        name_thrown(ret);
        return true;
    }
    return is_bare_exception(line, ret);
}

bool patterns_is_noise(struct span line)
{
    return line.len == 0 || is_glog(line) || starts_any(line, noise_starts, COUNT(noise_starts)) ||
           starts_any(line, harmless_intros, COUNT(harmless_intros)) ||
           has_any(line, noise_parts, COUNT(noise_parts));
}

bool patterns_is_harmless_intro(struct span line)
{
    return starts_any(line, harmless_intros, COUNT(harmless_intros));
}

bool patterns_is_user_file(struct span path)
{
    return !span_starts(path, "<frozen ") && !has_any(path, library_paths, COUNT(library_paths));
}
