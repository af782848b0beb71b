topic block
title Blocks of two threads keep queueing order
slow 2
trace callouts
block B1
block B2
block B3
source0 K
at 40: perform B1 default
at 100: perform B2 default; perform B3 default; wake
add K default
run default 0.15 no
--- golden
run default
block B1 mode=default
block B2 mode=default
block B3 mode=default
ran default TIMEDOUT
end
