#!/usr/bin/env bash
# Installs the Debian packages of the commands that the checks call, where one is missing.
set -euo pipefail

missing=()
for pair in python3:python3 strace:strace curl:curl git:git script:bsdutils prlimit:util-linux chromium-headless-shell:chromium-headless-shell \
  java:openjdk-17-jdk-headless mvn:maven; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo 'every tool is there'
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo --non-interactive)
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"
