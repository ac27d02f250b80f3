"""What every test needs of its process."""

import signal

# A shell without job control starts background commands with SIGINT ignored, and children inherit that: a test of
# Ctrl-C would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
