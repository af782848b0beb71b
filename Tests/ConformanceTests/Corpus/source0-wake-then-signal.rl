topic source0
title Waking before signalling may miss: the signal is seen at the next wakeup
slow 2
trace callouts
source0 S
at 40: wake
at 120: signal S
at 200: note again; wake
add S default
run default 0.28 no
--- golden
run default
ext: note again
source0 S mode=default
ran default TIMEDOUT
end
