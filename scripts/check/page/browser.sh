# For scripts that need a browser; source this file in the repository's root. It takes the name of the script and those of other
# programs that the script needs, checks that everything is installed, and installs the packages of package.json under target/page.
# It sets CHROMIUM, PETTEIA (from $program), and PAGE_MODULES. If FIREFOX names a browser, no other browser is needed.

prepare_browser() {
    local script=$1 missing=() tool
    shift
    CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
    for tool in node npm "$@"; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    [ -n "$CHROMIUM${FIREFOX:-}" ] || missing+=(chromium)
    [ -x "$program" ] || missing+=("$program")
    if [ ${#missing[@]} -gt 0 ]; then
        echo "$script: missing: ${missing[*]}" >&2
        exit 1
    fi

    local modules=target/page
    if ! cmp -s scripts/check/page/package.json "$modules/package.json"; then
        mkdir -p "$modules"
        cp scripts/check/page/package.json "$modules/package.new.json"
        mv "$modules/package.new.json" "$modules/package.json"
        npm install --prefix "$modules" --no-audit --no-fund --no-package-lock --silent || {
            rm -f "$modules/package.json"
            echo "$script: the packages of scripts/check/page/package.json could not be installed from npm" >&2
            exit 1
        }
    fi
    export CHROMIUM PETTEIA=$program PAGE_MODULES=$PWD/$modules
}
