topic mainq
title A nested common-mode run in a timer callback serves the main queue
thread main:
block M
timer T delay=20
on T: async M; run default 0.05 no; note back
add T default
run default 0.1 no
--- golden
run default
timer T mode=default
run default
mainq M mode=default
ran default TIMEDOUT
note back
ran default TIMEDOUT
end
