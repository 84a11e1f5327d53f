#!/usr/bin/env bash
# Installs the Debian packages of the commands that the checks call, where one is missing.
set -euo pipefail

missing=()
for pair in python3:python3 strace:strace curl:curl git:git script:bsdutils prlimit:util-linux chromium-headless-shell:chromium-headless-shell \
  java:openjdk-17-jdk-headless mvn:maven; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
# Debian's python3 makes no virtual environments without it; the generator for Python is installed in one.
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ ${#missing[@]} -eq 0 ] && command -v promtool >/dev/null; then
  echo 'every tool is there'
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo --non-interactive)
"${as_root[@]}" apt-get update
if [ ${#missing[@]} -gt 0 ]; then
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"
fi

# Only promtool of the package: its installation would start a server of Prometheus.
if ! command -v promtool >/dev/null; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  (cd "$folder" && apt-get download prometheus)
  dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar --extract --directory "$folder" ./usr/bin/promtool
  "${as_root[@]}" install -m 755 "$folder/usr/bin/promtool" /usr/local/bin/promtool
fi
