#!/bin/sh
# Creates a small git repository with a failing test, for docs/first-hour.md.
# Usage: sh make.sh FOLDER
set -eu

if [ $# -ne 1 ]; then
  echo "usage: sh make.sh FOLDER" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
if [ -e "$folder" ]; then
  echo "error: $folder already exists; name a new folder" >&2
  exit 1
fi

mkdir -p "$folder"
cp "$here/slug.sh" "$here/test.sh" "$here/fix.sim.json" "$folder/"
cd "$folder"
git init --quiet
# The repository works also where git does not know your name yet.
git config user.name "First Hour"
git config user.email "first-hour@example.invalid"
git add .
git commit --quiet -m "Turn a title into a slug"
echo "$(pwd) is ready: \`sh test.sh\` fails there"
