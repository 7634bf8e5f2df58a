#!/bin/sh
# Fails when slug.sh does not turn a title into the right slug.
failed=0
expect() {
  got=$(sh ./slug.sh "$1")
  if [ "$got" = "$2" ]; then
    echo "ok: $1"
  else
    echo "FAIL: '$1' must become '$2', not '$got'"
    failed=1
  fi
}
expect 'Hello World' 'hello-world'
expect 'Two  Blanks' 'two-blanks'
expect 'What now?' 'what-now'
exit $failed
