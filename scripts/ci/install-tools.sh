#!/usr/bin/env bash
# Installs the Debian packages of the commands that the checks call, where one is missing.
set -euo pipefail

missing=()
for pair in strace:strace curl:curl git:git script:bsdutils prlimit:util-linux \
  java:openjdk-17-jdk-headless mvn:maven; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
needs_chromium=true
command -v chromium >/dev/null && needs_chromium=false
if [ ${#missing[@]} -eq 0 ] && ! $needs_chromium; then
  echo 'every tool is there'
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo --non-interactive)
"${as_root[@]}" apt-get update
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"
}
[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
# Not every distribution has it as a package; without it the tests that look at pages are skipped, and say so.
if $needs_chromium && ! install chromium; then
  echo 'chromium cannot be installed here'
fi
