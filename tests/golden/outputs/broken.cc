// broken CASE: programs in C and C++ that die in the ways that extensions of a training job die. `make` beside this
// file builds it, with and without sanitizers, and keeps what it said on stderr.
#include <cassert>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

static volatile int zero;

static void thrown()
{
    throw std::runtime_error("kernel 3 has no such layout");
}

static void thread_left()
{
    std::thread([] { for (;;) { std::this_thread::yield(); } });
}

static void asserted()
{
    assert(zero != 0 && "a batch has rows");
}

static void heap_overrun()
{
    char *text = static_cast<char *>(malloc(24));

    memset(text, 'x', 24 + static_cast<size_t>(zero) + 16);
    free(malloc(4096));
    free(text);
}

static void stack_overrun()
{
    char room[8];

    memset(room, 'x', sizeof(room) + static_cast<size_t>(zero) + 64);
    fputc(room[zero], stdout);
}

static void used_after_free()
{
    char *text = new char[16];

    delete[] text;
    fputc(text[zero], stdout);
}

static void overflow()
{
    fprintf(stdout, "%d\n", INT_MAX + (zero + 1));
}

static void leaked()
{
    char *volatile text = new char[16];

    text[0] = 'x';
    text = nullptr;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } cases[] = {{"thrown", thrown},
                 {"thread_left", thread_left},
                 {"asserted", asserted},
                 {"heap_overrun", heap_overrun},
                 {"stack_overrun", stack_overrun},
                 {"used_after_free", used_after_free},
                 {"overflow", overflow},
                 {"leaked", leaked}};

    for (const auto &it : cases)
        if (argc > 1 && std::string(argv[1]) == it.name)
            it.run();
    return 0;
}
