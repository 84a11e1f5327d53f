#!/bin/sh
# What the Dockerfile builds: the server with what it needs to run, and nothing else, in a new folder.
# Run in a checkout without node_modules: scripts/docker-build.sh <folder>
set -eu
out=$1

node scripts/prepare.mjs server

mkdir "$out"
cp package.json package-lock.json "$out"
for folder in packages/* server; do
  [ -d "$folder/dist" ] && [ "$folder" != packages/testkit ] || continue
  mkdir -p "$out/$folder"
  cp -R "$folder/package.json" "$folder/dist" "$out/$folder"
done
find "$out" -name '*.d.ts' -delete -o -name '*.map' -delete -o -name '*.tsbuildinfo' -delete
cp scripts/docker-health.mjs "$out/server/healthy.mjs"
cd "$out"
npm ci --ignore-scripts --no-audit --no-fund --omit=dev --workspace=@countersign/server
