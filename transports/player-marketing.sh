#!/bin/sh
# Runs a command of the CLI from any folder, on the Node that the project has brought.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done
root=$(cd "$(dirname "$self")/.." && pwd) || exit 1
node=$root/node_modules/.bin/node
[ -x "$node" ] || node=node
# The service that npm start has started keeps its database there.
export DATA_DIR="${DATA_DIR:-$root/.data}"
exec "$node" "$root/transports/cli.ts" "$@"
