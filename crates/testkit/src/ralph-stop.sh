#!/bin/sh
# Stop hook of a loop that is armed by .claude/ralph-loop.local.md: lets the agent stop when the
# iterations are spent or the promise was made, otherwise counts and gives the prompt again.
set -eu
cd "${CLAUDE_PROJECT_DIR:-.}"
state=.claude/ralph-loop.local.md
[ -f "$state" ] || exit 0

input=$(cat)
# Only the frontmatter: the prompt below it may hold anything.
value() { sed -n "2,/^---\$/s/^$1: *//p" "$state" | sed 's/^"\(.*\)"$/\1/'; }
iteration=$(value iteration)
max=$(value max_iterations)
promise=$(value completion_promise)

finish() { rm -f "$state"; exit 0; }
if [ "$max" -gt 0 ] && [ "$iteration" -ge "$max" ]; then finish; fi
last=$(printf '%s' "$input" | sed -nE 's/.*"last_assistant_message": *"(([^"\\]|\\.)*)".*/\1/p')
case "$last" in
  *"<promise>$promise</promise>"*) [ -z "$promise" ] || finish ;;
esac

sed "2,/^---\$/s/^iteration: .*/iteration: $((iteration + 1))/" "$state" >"$state.new"
mv "$state.new" "$state"
prompt=$(awk 'body { print } /^---$/ && !body { if (++fence == 2) body = 1 }' "$state" \
  | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')
printf '{"decision":"block","reason":"%s"}\n' "$prompt"
