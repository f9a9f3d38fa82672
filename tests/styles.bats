#!/usr/bin/env bats
# Scripts in the styles that people write, in every device mode: the table of the README.

load lib

STYLES=('set_device(LOCAL_RANK)' 'rank % device_count()' 'cuda:0' 'if LOCAL_RANK == 0: download')
MODES=(shared isolated isolated-keep-rank)

setup() {
    mkdir -p "$T/root/dev"
    touch "$T"/root/dev/nvidia{0..3}
}

# verdict STYLE MODE: what comes of four ranks, in the table's words.
verdict() {
    env -u CUDA_VISIBLE_DEVICES PYTHON_EXEC=/usr/bin/python3 STUB_DEVICES=4 "$RANKINIT" \
        --sysroot "$T/root" --settle 0s --device-mode "$2" "$ROOT/tests/styles/train.py" "$1" \
        >"$T/out" 2>"$T/err" || {
        grep -o 'invalid device ordinal' "$T/err" | head -n 1 || cat "$T/err"
        return
    }
    case $(sort -n "$T/out" | cut -d ' ' -f 2 | paste -sd ' ') in
        '0 1 2 3') echo 'own device' ;;
        '0 0 0 0') echo 'all on one device' ;;
        'download wait wait wait') echo 'one rank' ;;
        'download download download download') echo 'every rank' ;;
        *) cat "$T/out" ;;
    esac
}

@test "the README's table of styles and modes is what ranks really get" {
    local style mode
    {
        printf '| the script says |'
        printf ' `%s` |' "${MODES[@]}"
        printf '\n| --- | --- | --- | --- |\n'
        for style in "${STYLES[@]}"; do
            printf '| `%s` |' "$style"
            for mode in "${MODES[@]}"; do printf ' %s |' "$(verdict "$style" "$mode")"; done
            echo
        done
    } >"$T/table"
    sed -n '/^| the script says/,/^$/p' "$ROOT/README.md" | sed '/^$/d' | diff - "$T/table"
}
