#!/bin/sh
# Turns a title into the end of a web address: "Hello World" becomes hello-world.
printf '%s\n' "$1" | tr 'A-Z' 'a-z' | tr ' ' '-'
