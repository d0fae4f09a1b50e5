#!/bin/sh
# run.sh PYTHON TEST: runs the test with the Python of build/venv where there is one, else with PYTHON.
here=$(dirname "$0")
venv=$here/../../build/venv/bin/python
if [ -x "$venv" ]; then
  exec "$venv" -B "$2"
fi
exec "$1" -B "$2"
