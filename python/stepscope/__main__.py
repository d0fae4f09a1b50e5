"""`python -m stepscope` is the command `stepscope`."""

from ._program import main

main()
