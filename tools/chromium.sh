#!/bin/sh
# Have a Chromium for the browser tests: the one at hand, else Debian's package where this user may install it.
# Always ends well; tests/browser says what a missing browser means (a skip told aloud, or with CI set a failure).
[ -n "$CHROMIUM" ] && exit 0
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done

if ! command -v apt-get >/dev/null 2>&1; then
    as_root=none
elif [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=sudo
else
    as_root=none
fi

if [ "$as_root" = none ]; then
    echo "No Chromium here, and it cannot be installed without root and apt. Install Chromium or Chrome, or name one in CHROMIUM."
    exit 0
fi

echo "Installing Chromium for the browser tests ..."
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $as_root apt-get -o Acquire::Retries=3 update && $as_root apt-get -o Acquire::Retries=3 install -y --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1; then
    tail -n 5 "$log"
    echo "Chromium could not be installed; the lines above say why."
fi
rm -f "$log"
exit 0
