topic mainq
title A nested run inside a main-queue function does not serve the queue
thread main:
block M1
block M2
source0 K
on M1: async M2; run default 0.05 no; note back
add K default
async M1
run default 0.12 no
--- golden
run default
mainq M1 mode=default
run default
ran default TIMEDOUT
note back
mainq M2 mode=default
ran default TIMEDOUT
end
