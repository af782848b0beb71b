topic block
title Queueing from another thread does not wake the loop
flags timing
slow 2
trace callouts
block B stamp
source0 K
at 20: perform B default
at 110: wake
add K default
run default 0.2 no
--- golden
run default
block B mode=default at=100
ran default TIMEDOUT
end
