#!/bin/sh
# What the Dockerfile builds: the server with what it needs to run, and nothing else, in a new folder.
# Run in a checkout without node_modules: scripts/docker-build.sh <folder>
# TARGETARCH, as docker names it, is the processor that the result is for; without it, the one of this machine.
set -eu
out=$1
case ${TARGETARCH:-} in
  '') cpu= ;;
  amd64) cpu=--cpu=x64 ;;
  arm64) cpu=--cpu=arm64 ;;
  *)
    echo "TARGETARCH must be amd64 or arm64, but is \"$TARGETARCH\": libsql has no native part for others." >&2
    exit 1
    ;;
esac

node scripts/prepare.mjs server

mkdir "$out"
cp package.json package-lock.json "$out"
for folder in packages/* server; do
  [ -d "$folder/dist" ] && [ "$folder" != packages/testkit ] || continue
  mkdir -p "$out/$folder"
  cp -R "$folder/package.json" "$folder/dist" "$out/$folder"
done
find "$out" -name '*.d.ts' -delete -o -name '*.map' -delete -o -name '*.tsbuildinfo' -delete
cp -R server/bin "$out/server"
cp scripts/docker-health.mjs "$out/server/healthy.mjs"
home=$PWD
cd "$out"
npm ci --ignore-scripts --no-audit --no-fund --omit=dev --workspace=@countersign/server ${cpu:+--os=linux "$cpu"}
# npm installs the parts for both C libraries. Debian, which the image is made of, has glibc.
rm -rf node_modules/@libsql/*-musl
node "$home/scripts/docker-sbom.mjs" .
